/**
 * A tier's SHA256SUMS: the SHA-256 of each file of the tier but itself. It has the format of sha256sum, so
 * that `sha256sum -c SHA256SUMS` in the tier's folder proves them. Its own SHA-256 is the tier's root
 * in the entry of the log.
 */
import { DamageError } from "../lib/errors.ts";
import { TIER_NAMES } from "../market/tier.ts";
import { FILES } from "../store/paths.ts";
import type { Publication } from "./log/entry.ts";
import type { FileEntry, Manifest } from "./manifest.ts";

const LINE = /^([0-9a-f]{64}) {2}([^\n\\]+)$/;

/** The bytes of the tier's SHA256SUMS; `files` are all files of its snapshot. */
export function renderSums(
  tier: string,
  files: readonly Pick<FileEntry, "path" | "sha256">[],
): Buffer {
  const folder = `${tier}/`;
  const lines = files
    .filter(({ path }) => path.startsWith(folder) && path !== FILES.sums(tier))
    .map(({ path, sha256 }) => ({ name: path.slice(folder.length), sha256 }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  return Buffer.from(lines.join(""));
}

/**
 * The SHA-256 (hex) of each file by its path in the tier's folder. Throws DamageError, naming `where`,
 * unless each line is one of sha256sum and names another file.
 */
export function parseSums(bytes: Uint8Array, where: string): ReadonlyMap<string, string> {
  const text = Buffer.from(bytes).toString("utf8");
  const sums = new Map<string, string>();
  for (const [at, line] of text.replace(/\n$/, "").split("\n").entries()) {
    const [, sha256, path] = LINE.exec(line) ?? [];
    if (sha256 === undefined || path === undefined || sums.has(path)) {
      throw new DamageError(
        `${where}, line ${at + 1}: expected a SHA-256, two spaces and the path of another file`,
      );
    }
    sums.set(path, sha256);
  }
  return sums;
}

/** The roots of a snapshot for its entry in the log: of each tier that it has data for. */
export function rootsOf({ files, tiers }: Pick<Manifest, "files" | "tiers">): Publication["roots"] {
  const byPath = new Map(files.map(({ path, sha256 }) => [path, sha256]));
  const roots = TIER_NAMES.map((tier) => [tier, byPath.get(FILES.sums(tier)) ?? null] as const);
  return Object.fromEntries(roots.filter(([tier, root]) => root !== null || tiers[tier]));
}
