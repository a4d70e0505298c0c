/**
 * The files that pages load: the files of src/site, and the font. Each is named by its digest, so that browsers keep it
 * for good: a file that changes has another name.
 */
import { createHash } from "node:crypto";
import { ASSETS_PATH } from "../public/uncounted-routes.ts";
import { FONT, siteAssets, siteBytes } from "../site/site-files.ts";

interface Asset {
  readonly path: string;
  readonly bytes: Buffer;
  /** The scripts that it imports at once. */
  readonly imports: readonly string[];
}

const made = new Map<string, Asset>();

/** The files that a script imports, at once or later, and those that a style sheet loads. */
const NAMED =
  /((?:from|import) "\.\/|await import\("\.\/|url\(")((?:documents\/)?[\w-]+\.\w+)(?=")/g;
/** Comments with lines of their own: a third of the bytes of scripts. */
const COMMENTS = /^ *\/\*(?:(?!\*\/).)*\*\/\n/gms;
/** Line breaks of style sheets that separate nothing. */
const CSS_BREAKS = /(?<=[{};,])\n\s*/g;
const NOTHING = /(?!)/g;
const DIGITS = 12;

/** A file by its name in src/site. Files are made after those that they name, whose digests they contain. */
function assetOf(name: string): Asset {
  const known = made.get(name);
  if (known !== undefined) return known;
  const imports: string[] = [];
  const source = siteBytes(name);
  const bytes = /\.(?:js|css)$/.test(name)
    ? Buffer.from(
        source
          .toString()
          .replaceAll(COMMENTS, "")
          .replaceAll(name.endsWith(".css") ? CSS_BREAKS : NOTHING, "")
          .replaceAll(NAMED, (_, before: string, other: string) => {
            if (/^(?:from|import)/.test(before)) imports.push(other);
            return before + assetOf(other).path.slice(ASSETS_PATH.length);
          }),
      )
    : source;
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, DIGITS);
  const path = ASSETS_PATH + name.replace(/(?=\.\w+$)/, `.${digest}`);
  const asset = { path, bytes, imports };
  made.set(name, asset);
  return asset;
}

/** The path at which a file of src/site, or the font, is served. */
export const assetPath = (name: string): string => assetOf(name).path;

/** All files, by path. */
export const assetFiles = (): ReadonlyMap<string, Buffer> =>
  new Map([...siteAssets(), FONT].map(assetOf).map(({ path, bytes }) => [path, bytes]));

/** The paths of a script and of all that it imports. */
export function modulePaths(name: string): string[] {
  const names = new Set([name]);
  for (const each of names) for (const other of assetOf(each).imports) names.add(other);
  return [...names].map(assetPath);
}
