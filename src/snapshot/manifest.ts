/**
 * A snapshot's manifest: the size and digest of every file, and the inputs. It is written after all
 * files that it names. Where and when it was made shows in nothing but the names of inputs, `by` and `why`.
 */
import { z } from "zod";
import { textOf } from "../lib/bytes.ts";
import { DamageError } from "../lib/errors.ts";
import { perTier, TIER_NAMES } from "../market/tier.ts";
import { slicesOf, unfitSlice } from "./coded.ts";
import { sha256Hex } from "./digest.ts";
import { judgementSchema } from "./judgement.ts";
import { WHOLE_BYTES_MAX } from "../ports/store.ts";
import { ledgerMonthContent, parseInputKey, parseLedgerMonthKey } from "../store/paths.ts";
import { unreleasedFormat } from "./log/entry-bytes.ts";
import { sha256Field } from "./stored-fields.ts";

/** The format that this version writes. */
export const FORMAT = 5;
/** The formats that it reads: every one that was released. */
const FORMATS = [3, 4, FORMAT] as const;

/** The largest size of a manifest that is read: 50,000 files have less. */
export const MANIFEST_BYTES_MAX = 32_000_000;

/** The largest size of what readers inflate before the first slice of a file. */
const HEADER_BYTES_MAX = 64_000;
const OBJECT_BYTES_MAX = 64_000_000;
/** The largest size of what a manifest names: readers have one in memory as a whole. */
const BYTES_MAX: readonly (readonly [RegExp, number])[] = [
  [/^catalog\.json$/, 32_000_000],
  [/corrections\.json$/, 32_000_000],
  [/\/basket\.json$/, 32_000_000],
  [
    /^\w+\/(history|levels|superseded|indices|members|settlements)\.(csv|parquet)$|^(states|series|settlements)\.json$/,
    WHOLE_BYTES_MAX,
  ],
  [/^/, OBJECT_BYTES_MAX],
];
/** No kind has a smaller limit, so that most objects need no look at their kind. */
const BYTES_MAX_OF_ALL = Math.min(...BYTES_MAX.map(([, bytesMax]) => bytesMax));

/** Without a format: 1. */
const formatSchema = z.object({ format: z.number().default(1) });

const sessionUtc = z.iso.datetime({ precision: 3 });

const count = z.int().nonnegative();

/**
 * A file in the snapshot's folder; size and digest describe its plain bytes. `tier` is null for files
 * that belong to no tier.
 */
const fileEntry = z.object({
  path: z.string(),
  bytes: count,
  sha256: sha256Field,
  media_type: z.string(),
  tier: z.enum(TIER_NAMES).nullable(),
  /** Of the object beside it, under its path and `.gz`: the same bytes, gzip-coded. */
  gzip: z.object({ bytes: count, sha256: sha256Field }).optional(),
  /** There is no plain object. */
  stored: z.literal("gzip").optional(),
  /**
   * Of each contract's rows, where they begin in the plain bytes and in the coded ones, and the SHA-256 of
   * the coded bytes up to the next slice, or to the trailer.
   */
  parts: z
    .array(z.object({ id: z.string(), at: count, gzip_at: count, sha256: sha256Field }))
    .optional(),
});
/** A manifest's record of a file; `path` is relative to the snapshot's folder. */
export type FileEntry = z.infer<typeof fileEntry>;

/** A month of the ledger, by its key in the store; snapshots share months. */
const ledgerMonth = z.object({
  key: z.string(),
  bytes: count,
  sha256: sha256Field,
});
/** A manifest's record of a ledger month. */
export type LedgerMonth = z.infer<typeof ledgerMonth>;

const inputEntry = z.object({
  kind: z.enum(["catalog", "map", "quotes", "closes"]),
  key: z.string(),
  /** The file as it was named, or the address without user and query. */
  name: z.string(),
  rows: count,
  bytes: count,
  bytes_sha256: sha256Field,
});
/** A manifest's record of an input, which the store keeps as it came. */
export type InputEntry = z.infer<typeof inputEntry>;

/** A carried, dropped or delisted level: the contract, and the session and date of its last given level. */
const pastLevel = z.object({ id: z.string(), session_utc: sessionUtc, as_of: z.iso.date() });

/** What the given levels say of the feed; see `Movement` in market/coverage.ts. */
const movement = z.object({
  given: count,
  unchanged: count,
  unmoved_since_utc: sessionUtc.nullable(),
  still: z.array(z.object({ id: z.string(), since_utc: sessionUtc, sessions: z.int().positive() })),
});

const tierSummary = z.object({
  session_utc: sessionUtc,
  delayed_sessions: count,
  memory: count,
  semiconductor: count,
  /** Contracts of the tier's slice off its board; as_of null: no level so far. */
  off_board: z.array(z.object({ id: z.string(), as_of: z.iso.date().nullable() })),
});

const manifestSchema = z.object({
  /** The version of the format's rules. */
  format: z.literal(FORMATS),
  session_utc: sessionUtc,
  revision: z.int().positive(),
  /** As `identityOf` makes it. */
  identity: sha256Field,
  program: z.object({ name: z.string(), version: z.string() }),
  parent: z
    .object({ session_utc: sessionUtc, revision: z.int().positive(), identity: sha256Field })
    .nullable(),
  reason: z.string().nullable(),
  /** Who published, and what else there is to say of the run; never public. */
  by: z.string().nullable(),
  why: z.string().nullable(),
  attribution: z.string(),
  options: z.record(z.string(), z.union([z.number(), z.string(), z.boolean(), z.null()])),
  /** In the order in which they were read. */
  inputs: z.array(inputEntry),
  counts: z.record(z.string(), count),
  carried: z.array(pastLevel),
  dropped: z.array(pastLevel),
  delisted: z.array(pastLevel),
  /** Missing: an older program published it. */
  movement: movement.optional(),
  /** Past levels that this snapshot changed; corrections.json holds all corrections so far. */
  corrected: z.array(
    z.object({
      contract: z.string(),
      session_utc: sessionUtc,
      old_usd: z.string().nullable(),
      new_usd: z.string().nullable(),
    }),
  ),
  /**
   * Of each index with published closes that differ from the values as known now: the first such day, the largest
   * difference in percent of the close, and close and value of the last day. Missing: an older program published it.
   */
  differing_closes: z
    .array(
      z.object({
        index: z.string(),
        from: z.iso.date(),
        largest_pct: z.number(),
        last: z.iso.date(),
        close: z.string(),
        value: z.string(),
      }),
    )
    .optional(),
  /** What the run let through, held back or changed. */
  judgements: z.array(judgementSchema),
  /** A missing tier has no data in this snapshot. */
  tiers: z.object(perTier(() => tierSummary.optional())),
  files: z.array(fileEntry),
  ledger: z.array(ledgerMonth),
});
/** A manifest as `parseManifest` reads it, in the names of the file. */
export type Manifest = z.infer<typeof manifestSchema>;

/**
 * The snapshot's identity: SHA-256 (hex) over the sorted list of (path, sha256) of everything the
 * manifest names. Ledger months count by month and content, not by the run that wrote them.
 */
export function identityOf(
  files: readonly { path: string; sha256: string }[],
  ledger: readonly { key: string; sha256: string }[],
): string {
  const lines = [
    ...files.map((file) => `${file.path} ${file.sha256}\n`),
    ...ledger.map((month) => `${ledgerMonthContent(month.key)} ${month.sha256}\n`),
  ];
  return sha256Hex(lines.sort().join(""));
}

export const renderManifest = (manifest: Manifest): Buffer =>
  Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);

/**
 * The first object that no reader of the manifest accepts, and the expected one; null: they accept all. Its
 * keys and sizes decide which objects are read whole, copied and kept, so none is trusted.
 */
export function unfitIn({
  files,
  ledger,
  inputs,
}: Pick<Manifest, "files" | "ledger" | "inputs">): string | null {
  const month = ledger.find(({ key, sha256 }) => parseLedgerMonthKey(key)?.sha256 !== sha256);
  if (month !== undefined) {
    return `${JSON.stringify(month.key)} as a part of the ledger, expected ledger/MONTH-${month.sha256}-NUMBER.ndjson`;
  }
  const input = inputs.find(({ key, bytes_sha256 }) => parseInputKey(key) !== bytes_sha256);
  if (input !== undefined) {
    return `${JSON.stringify(input.key)} as an input, expected inputs/${input.bytes_sha256}-NUMBER.gz`;
  }
  const bare = files.find(({ stored, gzip }) => stored === "gzip" && gzip === undefined);
  if (bare !== undefined) return `${bare.path} as stored gzip-coded only, without its coded form`;
  for (const file of files) {
    const unfit = file.parts === undefined ? null : unfitSlice(file);
    if (unfit !== null) return unfit;
  }
  for (const file of files) {
    const { path, bytes, gzip } = file;
    const unfit =
      tooLargeFor(path, bytes) ?? tooLargeFor(path, gzip?.bytes ?? 0) ?? tooLargePiece(file);
    if (unfit !== null) return unfit;
  }
  for (const { key, bytes } of ledger) {
    const unfit = tooLargeFor(key, bytes);
    if (unfit !== null) return unfit;
  }
  return null;
}

const exceeding = (what: string, bytes: number, bytesMax: number): string =>
  `${what} with ${bytes} bytes, expected ${bytesMax} or less`;

function tooLargeFor(path: string, bytes: number): string | null {
  if (bytes <= BYTES_MAX_OF_ALL) return null;
  const [, bytesMax = 0] = BYTES_MAX.find(([kind]) => kind.test(path)) ?? [];
  return bytes > bytesMax ? exceeding(path, bytes, bytesMax) : null;
}

/** Of what readers inflate alone of a file in slices: its header, and each slice. */
function tooLargePiece(file: FileEntry): string | null {
  if (file.parts === undefined) return null;
  const slices = slicesOf(file);
  const headerBytes = slices[0]?.at ?? 0;
  if (headerBytes > HEADER_BYTES_MAX)
    return exceeding(`the header of ${file.path}`, headerBytes, HEADER_BYTES_MAX);
  const large = slices.find(({ bytes }) => bytes > OBJECT_BYTES_MAX);
  return large === undefined
    ? null
    : exceeding(`part ${JSON.stringify(large.id)} of ${file.path}`, large.bytes, OBJECT_BYTES_MAX);
}

/** Reads a manifest. Throws DamageError, naming `where`, if the bytes are not a manifest. */
export function parseManifest(bytes: Uint8Array, where: string): Manifest {
  let format: number;
  try {
    const value: unknown = JSON.parse(textOf(bytes));
    ({ format } = formatSchema.parse(value));
    if (FORMATS.some((each) => each === format)) return manifestSchema.parse(value);
  } catch (cause) {
    throw new DamageError(`${where} is not a manifest this version can read`, [], { cause });
  }
  if (format < FORMATS[0]) throw unreleasedFormat(where);
  throw new DamageError(
    `${where} was published by a newer chipboard: its format is ${format}, expected at most ${FORMAT}`,
  );
}
