/** Reads a run's whole input before the run looks at the head, and describes it for the manifest. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { pipeline, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip, createGzip } from "node:zlib";
import { readCatalog } from "../feed/catalog.ts";
import { Complaints } from "../feed/complaints.ts";
import { MAX_ID_CHARACTERS } from "../feed/fields.ts";
import { GIVEN_KINDS, GivenLevels } from "../feed/given-levels.ts";
import type { Accepted } from "../feed/gates.ts";
import { readLevels } from "../feed/levels.ts";
import { readMap, type FeedMap } from "../feed/map.ts";
import type { InputSource } from "../feed/source.ts";
import type { ServerTime } from "../lib/clock.ts";
import type { Contract } from "../market/contract.ts";
import type { Judgement } from "../snapshot/judgement.ts";
import type { InputEntry } from "../snapshot/manifest.ts";
import type { ObjectStore } from "../ports/store.ts";
import { inputKey } from "../store/paths.ts";
import { publishedIds, type Base } from "./base.ts";
import type { Progress, PublishRequest, ReleaseOptions } from "./request.ts";

/** The decimals of a level. */
const LEVEL_DECIMALS = 6;

/** The content of one source, and its bytes as gzip. */
type ReadInput = Omit<InputEntry, "key"> & { readonly stored: Buffer };

export interface Inputs {
  /** Null without `--catalog`. `ids` has the place of each id's row, also of faulty rows. */
  readonly catalog: { contracts: readonly Contract[]; ids: ReadonlyMap<string, string> } | null;
  readonly given: GivenLevels;
  /** Each source, in the order in which they were read. */
  readonly read: readonly ReadInput[];
  /** What the servers of addresses said of the time. */
  readonly serverTimes: readonly ServerTime[];
  /** The errors so far. The comparison with the ledger may add more. */
  readonly complaints: Complaints;
}

/** Servers' answers, as gzip, that were read whole while another input was not there yet. */
export type KeptAnswers = Map<InputSource, Buffer>;

/**
 * Reads every source, in turn. It adds their errors to `complaints` and does not throw them. It looks
 * into the store only to learn which ids are known, if no catalog is given. Answers in `kept`
 * are not asked for again; afterwards it holds those that the next try needs no more.
 */
export async function readInputs(
  request: PublishRequest,
  store: ObjectStore,
  progress: Progress,
  kept: KeptAnswers,
): Promise<Inputs> {
  const complaints = new Complaints();
  const answers: KeptAnswers = new Map();
  const { quotes, closes } = request;
  // Without any of them there is nothing to map.
  const mapFile = quotes.length + closes.length > 0 ? request.map : null;
  const total = [request.catalog, mapFile, ...quotes, ...closes].filter((each) => each).length;
  let done = 0;
  const read: ReadInput[] = [];
  const serverTimes: ServerTime[] = [];
  const readSource = async (
    kind: InputEntry["kind"],
    source: InputSource,
    rowsOf: (copy: InputSource) => Promise<number>,
  ): Promise<void> => {
    const { copy, end } = recordSource(withAnswer(source, kept.get(source)));
    const rows = await rowsOf(copy);
    const { isWhole, ...content } = await end();
    read.push({ kind, name: source.name, rows, ...content });
    if (isWhole && source.isAnswer) answers.set(source, content.stored);
    const time = source.serverTime?.() ?? null;
    if (time !== null) serverTimes.push(time);
    progress("Reading", (done += 1), total);
  };

  let catalog = null as Inputs["catalog"];
  if (request.catalog !== null) {
    await readSource("catalog", request.catalog, async (copy) => {
      catalog = await readCatalog(copy, complaints);
      return catalog.contracts.length;
    });
  }
  const { ignoreUnknown } = request;
  const knownIds = (): Promise<ReadonlySet<string>> =>
    publishedIds(store).catch((error: unknown) => {
      // Without --ignore-unknown they only make messages better. The next read of the store reports its fault.
      if (ignoreUnknown) throw error;
      return new Set();
    });
  const given = new GivenLevels({
    held: new Set(request.hold),
    holdInvalid: request.holdInvalid,
    known: catalog?.ids ?? (await knownIds()),
    ignoreUnknown,
    round: request.round,
  });
  let map = null as FeedMap | null;
  if (mapFile !== null) {
    await readSource("map", mapFile, async (copy) => {
      map = await readMap(copy, complaints);
      given.addNames(map?.ids.keys() ?? []);
      return 0;
    });
  }
  // By a wrong map, all of them would seem to be wrong.
  const isReadable = mapFile === null || map !== null;
  for (const kind of isReadable ? GIVEN_KINDS : []) {
    for (const source of request[kind]) {
      await readSource(kind, source, async (copy) => {
        const before = given.rows[kind];
        await readLevels(kind, copy, request.session, given, complaints, map);
        return given.rows[kind] - before;
      });
    }
  }
  kept.clear();
  if (complaints.isEarly) answers.forEach((answer, source) => kept.set(source, answer));
  return { catalog, given, read, serverTimes, complaints };
}

/** The source with an answer that it gave before. */
const withAnswer = (source: InputSource, answer: Buffer | undefined): InputSource =>
  answer === undefined
    ? source
    : { ...source, open: () => pipeline(Readable.from([answer]), createGunzip(), () => undefined) };

/** A copy of the source that records the bytes read until the call of `end`. */
function recordSource(source: InputSource) {
  const hash = createHash("sha256");
  const gzip = createGzip();
  const stored = buffer(gzip);
  let bytes = 0;
  let isWhole = false;
  async function* open(): AsyncIterable<Uint8Array> {
    for await (const piece of source.open()) {
      hash.update(piece);
      bytes += piece.length;
      if (!gzip.write(piece)) await once(gzip, "drain");
      yield piece;
    }
    isWhole = true;
  }
  const end = async () => {
    gzip.end();
    return { isWhole, bytes, bytes_sha256: hash.digest("hex"), stored: await stored };
  };
  return { copy: { ...source, open }, end };
}

/** The accepted findings, and the rows left out or rounded, each with the person who judged. */
export function judgementsOf(
  accepted: readonly Accepted[],
  { held, later, unknown, near, rounded }: GivenLevels,
  { by = null, why = null }: ReleaseOptions,
): Judgement[] {
  const judged = [
    ...accepted,
    ...[...held].map(([contract, measured]) => ({ gate: "held", contract, measured, limit: null })),
    ...[...later].map(([contract, measured]) => ({
      gate: "later",
      contract,
      measured,
      limit: null,
    })),
    // Those that seem to be contracts come first.
    ...[...unknown]
      .toSorted(([one], [other]) => Number(near.has(other ?? "")) - Number(near.has(one ?? "")))
      .map(([id, measured]) => {
        const like = near.get(id ?? "") ?? null;
        return { gate: "unknown", contract: id && shortenId(id), measured, limit: like };
      }),
    ...(rounded === 0
      ? []
      : [{ gate: "rounded", contract: null, measured: rounded, limit: LEVEL_DECIMALS }]),
  ];
  return judged.map((judgement) => ({ ...judgement, by, why }));
}

/** An id that no catalog knows can be of any length. */
const shortenId = (id: string): string =>
  id.length <= MAX_ID_CHARACTERS ? id : `${id.slice(0, MAX_ID_CHARACTERS)}…`;

/** An input to publish. `stored` null: the head names the same bytes, and so the same key. */
export interface KeptInput {
  readonly entry: InputEntry;
  readonly stored: Buffer | null;
}

/** The manifest's description of the inputs, on `base`. */
export function describeInputs({ read }: Inputs, base: Base): KeptInput[] {
  const known = new Map(base.head?.manifest.inputs.map((item) => [item.bytes_sha256, item.key]));
  const began = base.end.newest?.entry.number ?? 0;
  return read.map(({ kind, name, rows, bytes, bytes_sha256, stored }) => {
    const there = known.get(bytes_sha256);
    const key = there ?? inputKey(bytes_sha256, began);
    const entry = { kind, key, name, rows, bytes, bytes_sha256 };
    return { entry, stored: there === undefined ? stored : null };
  });
}
