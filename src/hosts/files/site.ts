/**
 * A site of files with all pages and data that need no key, made by asking the core. It depends on the
 * publication and the options alone: the clock of its world stands at the start of the session, so that nothing is late
 * yet. Its pages calculate by the reader's clock how late they are (site/late.js).
 */
import { answer } from "../../core/answer.ts";
import type { World } from "../../core/world.ts";
import { textOf, utf8 } from "../../lib/bytes.ts";
import { DamageError, InputError } from "../../lib/errors.ts";
import { NO_QUEUE, Turns } from "../../lib/turns.ts";
import type { Contract } from "../../market/contract.ts";
import { sessionStartMs, sessionUtc } from "../../market/session.ts";
import { KEYLESS } from "../../market/tier.ts";
import { assetFiles } from "../../pages/assets.ts";
import { assets, fixedPages } from "../../pages/fixed-pages.ts";
import type { PageService } from "../../pages/page-frame.ts";
import { pagesOf } from "../../pages/pages.ts";
import { NO_HOLDER, type Accounts, type KeyVerdict } from "../../ports/accounts.ts";
import type { ObjectStore } from "../../ports/store.ts";
import { isDenial } from "../../public/problems.ts";
import { DATA_ROUTES, SUMS_ROUTE } from "../../public/routes.ts";
import { ASSETS_PATH, PAGES, UNCOUNTED_ROUTES } from "../../public/uncounted-routes.ts";
import { Archive } from "../../served/archive.ts";
import { KeepingShelf, loadSnapshot } from "../../served/load.ts";
import { LogReader } from "../../served/log-reader.ts";
import { parseSums } from "../../snapshot/sums.ts";
import { pemOf, type VerifyKey } from "../../snapshot/signing-key.ts";
import { lastOf, snapshotText, TILE_SIZES, tilePath } from "../../store/paths.ts";
import { nodePlatform } from "../platform.ts";
import { escaped } from "../../site/text.js";
import { absoluteLinks, linkedPage, linkedSitemap, type Site } from "./links.ts";

interface SiteOptions extends Pick<PageService, "plans"> {
  readonly store: ObjectStore;
  /** `https://host/prefix`, without a slash at its end. */
  readonly publicUrl: string;
  /** The address of a service that has the rest; null: there is none. */
  readonly service: string | null;
  readonly graceMs: number;
  /** One of these keys must have signed the log; null: nobody must. */
  readonly verifyKeys: readonly VerifyKey[] | null;
}

/** A file of the site, by its path below the site's root. */
export interface SiteFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** The site of a publication. */
interface ExportedSite {
  /** `2026-11-21T00Z/r1`. */
  readonly snapshot: string;
  /** The number of its entry in the log. */
  readonly publication: number;
  /** How many addresses of the service it has, without assets. */
  readonly size: number;
  /** Each file once, in the order of making. `tell` gets the number of addresses that were asked so far. */
  files(tell: (done: number) => void): AsyncGenerator<SiteFile>;
}

/** A caller without a key: nobody counts the calls of an export. */
const REFUSED: KeyVerdict = { ...NO_HOLDER, refusal: "invalid_key" };
const NOBODY: Accounts = {
  verdicts: { authenticate: () => REFUSED, known: () => REFUSED },
  counts: {
    take: () => ({ granted: true, used: 0 }),
    giveBack: () => {},
    used: () => Promise.resolve(0),
    known: () => 0,
    noteUse: () => {},
  },
  addressSubject: () => "address:export",
  trouble: null,
  refusal: null,
  evictionPolicy: null,
};

/** Nobody asks for a coded form. */
const PLATFORM = { ...nodePlatform, gzip: (bytes: Uint8Array) => Promise.resolve(bytes) };

/** The pages that work among files, with the page that tells of a wrong address. The others need a key or the API. */
const SITE_PAGES = [PAGES.market, PAGES.status, PAGES.corrections, PAGES.methodology, PAGES.verify];
const NOT_FOUND = "404.html";

/**
 * The site of the newest publication. Throws InputError if nothing is published, DamageError if the log or the
 * snapshot is damaged or not signed as asked, UnreachableError if the store does not answer.
 */
export async function exportedSite(options: SiteOptions): Promise<ExportedSite> {
  const { store, publicUrl, service, graceMs, verifyKeys } = options;
  const log = new LogReader(store, null, verifyKeys);
  const damage = await log.follow();
  if (damage !== null) throw damage;
  const { head } = log;
  if (head === null) {
    throw new InputError(`${store.location} holds no publication yet: publish a session first`);
  }
  const loading = {
    graceMs,
    cacheBytes: 0,
    platform: PLATFORM,
    // An export reads no more than it writes, and the catalog.
    shelf: new KeepingShelf(() => true, Infinity),
    // The core also fails where a stream does.
    onStreamFailure: () => {},
  };
  const current = await loadSnapshot(store, head, loading);
  const catalog = await current.catalog(NO_QUEUE);
  if (isDenial(catalog)) throw new Error(catalog.code);
  const nowMs = sessionStartMs(head.session);
  const turns = new Turns(setImmediate);
  const live = { current, trouble: null, newest: head };
  let failure: unknown = null;
  const settings = {
    ...options,
    origin: publicUrl,
    live,
    log,
    turns,
    platform: PLATFORM,
    pollMs: 0,
    files: { service, nextSessionUtc: sessionUtc(head.session + 1), graceMs },
  };
  const world: World = {
    ...settings,
    archive: new Archive(store, loading),
    accounts: NOBODY,
    clock: { now: () => nowMs },
    trustedHops: 0,
    logKeysPem: verifyKeys && pemOf(verifyKeys),
    pages: pagesOf(settings, await fixedPages(PLATFORM, assets(), nowMs)),
    observer: {
      answered: () => {},
      failed: (error) => {
        failure = error;
      },
    },
  };
  const data = dataPlaces(catalog, new Set(current.files.keys()));
  const paths = [
    ...logPaths(log.newestNumber, verifyKeys !== null),
    UNCOUNTED_ROUTES.feed.path,
    PAGES.sitemap.path,
    PAGES.robots.path,
    PAGES.favicon.path,
  ];
  const pages = [
    ...SITE_PAGES.map(({ path }) => path),
    ...catalog.map(({ id }) => PAGES.contract.path.replace("{id}", id)),
  ];
  const former = catalog.flatMap(({ formerly }) =>
    formerly.map((id) => PAGES.contract.path.replace("{id}", id)),
  );
  const assetsByPath = assetFiles();
  const places = new Map([
    ...data,
    ...[...paths, ...assetsByPath.keys()].map((path) => [path, path] as const),
    ...pages.map((path) => [path, path === "/" ? path : `${path}/`] as const),
  ]);
  const site: Site = { publicUrl, service, places };
  return {
    snapshot: snapshotText(head),
    publication: head.number,
    size: data.size + paths.length + pages.length + former.length + 1,
    async *files(tell) {
      let done = 0;
      const ask = async (path: string): Promise<CoreAnswer> => {
        const asked = await askCore(world, path);
        if (failure !== null) throw failure;
        done += 1;
        tell(done);
        return asked;
      };
      const sums = new Map<string, string>();
      for (const [path, place] of data) {
        const bytes = expectFound(await ask(path), path);
        sums.set(place.slice("/data/".length), PLATFORM.sha256(bytes));
        if (path === SUMS_ROUTE.path) requireSums(bytes, sums);
        yield fileOf(place, bytes);
      }
      for (const path of paths) {
        const bytes = expectFound(await ask(path), path);
        const text = linkerOf(path);
        yield fileOf(path, text === null ? bytes : utf8(text(textOf(bytes), site)));
      }
      const used = new Set<string>();
      const page = (place: string, html: string): SiteFile => {
        for (const path of assetsIn(html)) used.add(path);
        return fileOf(`${place}index.html`, utf8(html));
      };
      for (const path of pages) {
        const html = textOf(expectFound(await ask(path), path));
        yield page(places.get(path) as string, linkedPage(html, path, site));
      }
      for (const path of former) {
        const { status, location } = await ask(path);
        // A former id may be in use again.
        if (status !== 308 || location === undefined) continue;
        yield page(`${path}/`, leadingOn(new URL(`${location}/`, publicUrl + path), path));
      }
      const missing = textOf((await ask(`/${NOT_FOUND}`)).bytes);
      for (const path of assetsIn(missing)) used.add(path);
      yield fileOf(`/${NOT_FOUND}`, utf8(linkedPage(missing, `/${NOT_FOUND}`, site, true)));
      // What an asset loads also counts.
      for (const path of used) {
        const bytes = assetsByPath.get(path);
        if (bytes === undefined) throw new Error(`A page names ${path}, which is no asset`);
        for (const other of assetsByPath.keys()) {
          if (bytes.includes(other.slice(ASSETS_PATH.length))) used.add(other);
        }
        yield fileOf(path, bytes);
      }
    },
  };
}

/** The place in the site of each answer with data, by its path. The sums come last. */
function dataPlaces(
  catalog: readonly Contract[],
  files: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const { board, contract } = DATA_ROUTES;
  const free = KEYLESS.name;
  const folder = `${free}/`;
  const placeOf = (file: string): string => `/data/${file.slice(folder.length)}`;
  const contracts = catalog.map(({ id }) => [
    contract.path.replace("{id}", id),
    contract.file(free, id),
  ]);
  return new Map([
    ...[[board.path, board.file(free)], ...contracts].flatMap(([path = "", file = ""]) =>
      files.has(file) ? [[path, placeOf(file)] as const] : [],
    ),
    [UNCOUNTED_ROUTES.contracts.path, "/data/contracts.json"],
    [SUMS_ROUTE.path, placeOf(SUMS_ROUTE.file(free, ""))],
  ]);
}

/** The entries of the log, its tiles, and its keys if it has some. */
function logPaths(newest: number, hasKeys: boolean): string[] {
  const { entry, logKeys } = UNCOUNTED_ROUTES;
  const entries = Array.from({ length: newest }, (_, at) =>
    entry.path.replace("{id}", String(at + 1)),
  );
  const tiles = TILE_SIZES.flatMap((size) =>
    Array.from({ length: Math.ceil(newest / size) }, (_, place) => ({ size, place }))
      .filter((tile) => lastOf(tile) < newest)
      .map(tilePath),
  );
  return [...entries, ...tiles, ...(hasKeys ? [logKeys.path] : [])];
}

/** An answer of the core. */
interface CoreAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly bytes: Uint8Array;
}

async function askCore(world: World, target: string): Promise<CoreAnswer> {
  const headers = { host: "localhost", accept: "text/html" };
  const asked = await answer(
    {
      method: "GET",
      target,
      httpVersion: "1.1",
      headers,
      rawHeaders: Object.entries(headers).flat(),
      peer: undefined,
      arrivedMs: 0,
    },
    world,
  );
  const { status, shared, body, done } = asked;
  try {
    const pieces = body === null ? [] : body instanceof Uint8Array ? [body] : body;
    const bytes = Buffer.concat(await Array.fromAsync<Uint8Array>(pieces));
    const at = shared.indexOf("location");
    return { status, location: at === -1 ? undefined : shared[at + 1], bytes };
  } finally {
    done();
  }
}

function expectFound({ status, bytes }: CoreAnswer, path: string): Uint8Array {
  if (status !== 200) throw new Error(`${path} was answered with ${status}`);
  return bytes;
}

/** Throws DamageError unless the tier's sums name exactly the files that were made, with their digests. */
function requireSums(bytes: Uint8Array, made: ReadonlyMap<string, string>): void {
  const sums = parseSums(bytes, SUMS_ROUTE.path);
  for (const [name, sha256] of sums) {
    if (made.get(name) !== sha256) throw new DamageError(`data/${name} is not as published`);
  }
}

/** Changes the addresses in a file that is no page to addresses of the site; null: they stay. */
function linkerOf(path: string): ((text: string, site: Site) => string) | null {
  if (path === PAGES.sitemap.path) return linkedSitemap;
  return path === UNCOUNTED_ROUTES.feed.path ? absoluteLinks : null;
}

/** The page at a former address, which leads to the present one. */
function leadingOn(to: URL, from: string): string {
  const href = escaped(to.href);
  const way = escaped(`../${to.pathname.split("/").at(-2) ?? ""}/`);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${escaped(from)} has moved</title>
    <meta name="robots" content="noindex" />
    <link rel="canonical" href="${href}" />
    <meta http-equiv="refresh" content="0; url=${way}" />
  </head>
  <body>
    <p>This contract has another id now: <a href="${way}">${href}</a>.</p>
  </body>
</html>
`;
}

const fileOf = (path: string, bytes: Uint8Array): SiteFile => ({ path: path.slice(1), bytes });

/** The paths of the assets that a page names. */
const assetsIn = (html: string): string[] =>
  [...html.matchAll(/assets\/[\w.-]+/g)].map(([path]) => `/${path}`);
