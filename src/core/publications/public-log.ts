/**
 * What the log says to everybody: its entries, their list, the feed and the status. Each body is made
 * once for each change of the log or of the missing sessions, not per request. All of them end with the
 * publication that is served, so nobody hears of one before its data can be asked for.
 */
import { joined, utf8 } from "../../lib/bytes.ts";
import { cacheOf, getOrMake } from "../../lib/caches.ts";
import { isPublication, type Publication } from "../../snapshot/log/entry.ts";
import { JSON_TYPE, TEXT_TYPE } from "../../store/media-types.ts";
import type { Asked, Found } from "../outcome.ts";
import { noSession } from "../find/data.ts";
import { pageForms, PUBLIC_CACHE, type PageSource } from "../serve/document.ts";
import { deny, isDenial, notYetPublished, type Denial } from "../../public/problems.ts";
import { shownText } from "../../public/query.ts";
import { idIn } from "../../public/routes.ts";
import { FEED_TYPE, TILE_TYPE, UNCOUNTED_ROUTES } from "../../public/uncounted-routes.ts";
import { firstOf, lastOf, type Tile } from "../../store/paths.ts";
import { entityOf, type Forms } from "../serve/entity.ts";
import { cacheControl, overdueSessions } from "../serve/freshness.ts";
import type { LiveSnapshot, World } from "../world.ts";
import { FEED_LENGTH, feedBody } from "./atom-feed.ts";
import {
  isNewestPage,
  listBody,
  pageOf,
  readPageQuery,
  rowsOf,
  type PageQuery,
  type ListRows,
} from "./publication-list.ts";
import { makeStatus, statusTickMs, type Status } from "./session-status.ts";

/** The log as far as it is served. */
interface View {
  /** The publishes and rollbacks, oldest first; the last one is served. */
  readonly publications: readonly Publication[];
  readonly newest: number;
  /** The time of the newest entry (epoch milliseconds). */
  readonly changedMs: number;
  /** Names this view. */
  readonly key: string;
}

/** Nothing is served. */
const NOTHING: View = { publications: [], newest: 0, changedMs: 0, key: "" };

/** The holder of the list's rows in the queue of work. */
const ROWS = "rows of /publications";

/** A stored entry never changes (RFC 8246), and a cache holds it no longer than other public answers. */
const ENTRY_CACHE = "public, max-age=60, immutable";

/** `/log/keys.pem`: the keys that the service was given to verify the log by. */
export function logKeys({
  logKeysPem,
  platform,
}: Pick<World, "logKeysPem" | "platform">): Found | Denial {
  if (logKeysPem === null)
    return deny("not_found", "This service was given no key to verify its log by.");
  const body = utf8(logKeysPem);
  return foundBytes(body, TEXT_TYPE, platform.sha256(body), PUBLIC_CACHE);
}

/** Bytes with their SHA-256 (hex) as the tag. They have no date: nobody knows when they arrived here. */
function foundBytes(
  body: Uint8Array,
  mediaType: string,
  sha256: string,
  cacheControl: string,
): Found {
  const content = { "content-type": mediaType };
  const entity = entityOf({ etag: `"${sha256}"`, modifiedMs: null, content, body, sha256 });
  return { kind: "found", forms: { identity: entity }, cacheControl };
}

/** Makes the answers of `/publications`, `/log/…`, `/feed.atom` and `/status.json`, and the pages that show the same. */
export function publicLog({
  live,
  log,
  pollMs,
  graceMs,
  platform,
  turns,
  origin,
}: Pick<World, "live" | "log" | "pollMs" | "graceMs" | "platform" | "turns" | "origin">) {
  /** All rows of the list, which its pages share: ten years have 7,300, of 200 bytes each. */
  const rows = cacheOf<ListRows>(1);
  /** Each document as it is now, and as it was before a change. */
  const pages = cacheOf<Forms>(10);
  /** Tiles of the log, which are joined once for many readers. */
  const tiles = cacheOf<Found>(20);
  let known = NOTHING;

  return {
    async list(asked: Asked): Promise<Found | Denial> {
      const served = live.current;
      if (served === null) return noSession(live, pollMs);
      const fault = asked.bodyFault();
      if (fault !== null) return fault;
      const query = readPageQuery(asked.query);
      if (isDenial(query)) return query;
      const view = viewOf(served);
      // Few callers ask for the same older page, so it is not compressed.
      const forms = isNewestPage(query)
        ? await made(UNCOUNTED_ROUTES.publications.path, view.key, () =>
            listForms(view, query, true),
          )
        : await listForms(view, query, false);
      return {
        kind: "found",
        forms,
        cacheControl: cacheControl("private", served.stamp, asked.nowMs),
      };
    },

    /** An entry of the log, byte for byte as it is stored, so that everybody can prove the log. */
    entry(asked: Asked): Found | Denial {
      const name = idIn(asked.path, UNCOUNTED_ROUTES.entry.path);
      if (!/^[1-9]\d*$/.test(name)) return deny("not_found", "The log has entries such as 42.");
      const served = live.current;
      if (served === null) return noSession(live, pollMs);
      const { newest } = viewOf(served);
      if (Number(name) > newest) return notYetPublished(shownText(name), newest);
      const { bytes, sha256 } = log.get(Number(name));
      return foundBytes(bytes, JSON_TYPE, sha256, ENTRY_CACHE);
    },

    /** A tile of the log, as the store has it once an entry follows it. */
    tile(asked: Asked, path: string, size: Tile["size"]): Found | Denial {
      const name = idIn(asked.path, path);
      const served = live.current;
      if (served === null) return noSession(live, pollMs);
      const tile = { size, place: Number(name) };
      if (!/^\d{10}$/.test(name) || lastOf(tile) >= viewOf(served).newest) {
        const detail = `The log has no such tile of ${size} entries, or not yet.`;
        return deny("not_found", detail);
      }
      const key = `${asked.path} ${viewOf(served).key}`;
      const kept = tiles.get(key);
      if (kept !== undefined) return kept;
      const entries = Array.from({ length: size }, (_, at) => log.get(firstOf(tile) + at));
      const body = joined(entries.map(({ bytes }) => bytes));
      const found = foundBytes(body, TILE_TYPE, platform.sha256(body), ENTRY_CACHE);
      tiles.set(key, found);
      return found;
    },

    async feed(): Promise<Found | Denial> {
      const served = live.current;
      if (served === null) return noSession(live, pollMs);
      const view = viewOf(served);
      const { path } = UNCOUNTED_ROUTES.feed;
      const forms = await made(path, view.key, async () => {
        const newest = view.publications.slice(-FEED_LENGTH);
        const [first] = view.publications as [Publication];
        const body = utf8(feedBody(platform, origin, { first, newest }));
        return pageForms(platform, { path, mediaType: FEED_TYPE, body }, view.changedMs);
      });
      return { kind: "found", forms, cacheControl: PUBLIC_CACHE };
    },

    /** The sessions of the last thirty days. Answers also while nothing is served. */
    status(asked: Asked): Promise<Found> {
      const { path } = UNCOUNTED_ROUTES.status;
      return statusAs(asked, path, (status) => {
        const body = utf8(`${JSON.stringify(status)}\n`);
        return { path, mediaType: JSON_TYPE, body };
      });
    },

    statusAs,

    /** A page with the publications, oldest first; it answers also while nothing is served. */
    async pageOf(
      path: string,
      form: (publications: readonly Publication[]) => PageSource,
    ): Promise<Found> {
      const served = live.current;
      const view = served === null ? NOTHING : viewOf(served);
      const forms = await made(path, view.key, () =>
        pageForms(platform, form(view.publications), view.changedMs),
      );
      return { kind: "found", forms, cacheControl: PUBLIC_CACHE };
    },
  };

  /** The sessions of the last thirty days, in the form given. */
  async function statusAs(
    { nowMs }: Asked,
    path: string,
    form: (status: Status, publications: readonly Publication[]) => PageSource,
  ): Promise<Found> {
    const served = live.current;
    const overdue = served === null ? 0 : overdueSessions(served.stamp, nowMs);
    const tickMs = statusTickMs(nowMs, graceMs);
    const view = served === null ? NOTHING : viewOf(served);
    const { key, publications, changedMs } = view;
    const forms = await made(path, `${key} ${tickMs}`, () => {
      const source = form(makeStatus({ publications, overdue, graceMs }, nowMs), publications);
      return pageForms(platform, source, Math.max(changedMs, tickMs));
    });
    return { kind: "found", forms, cacheControl: PUBLIC_CACHE };
  }

  function viewOf({ publication: served }: LiveSnapshot): View {
    const key = `${served.number} ${log.newestNumber}`;
    if (known.key === key) return known;
    const all = log.entries;
    const end = all.findIndex((entry) => entry.number > served.number && isPublication(entry));
    const entries = end === -1 ? all : all.slice(0, end);
    const older = entries.filter(isPublication).filter(({ number }) => number < served.number);
    const { number, at } = entries.at(-1) ?? served;
    const publications = [...older, served];
    known = { publications, newest: number, changedMs: Date.parse(at), key };
    return known;
  }

  async function listForms(view: View, query: PageQuery, isCoded: boolean): Promise<Forms> {
    const page = pageOf(view.newest, query);
    // A damaged entry fails: a caller who pages through the log must not miss one without knowing.
    for (let number = page.first; number <= page.last; number += 1) log.get(number);
    const { entries } = log;
    const all = await getOrMake(rows, `${view.key} ${entries.length}`, turns.placeOf(ROWS), () =>
      rowsOf(entries.filter(({ number }) => number <= view.newest)),
    );
    const { path } = UNCOUNTED_ROUTES.publications;
    const body = listBody(all, page);
    return pageForms(platform, { path, mediaType: JSON_TYPE, body }, view.changedMs, {
      isCoded,
    });
  }

  function made(path: string, key: string, make: () => Promise<Forms>): Promise<Forms> {
    return getOrMake(pages, `${path} ${key}`, turns.placeOf(path), make);
  }
}
