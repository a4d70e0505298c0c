/** The publish half of `doctor`: catalog, map, holidays and feeds, read by the code of `publish`. */
import { statSync } from "node:fs";
import { instantText, HOUR_MS, MINUTE_MS, type ServerTime } from "../lib/clock.ts";
import { ChipboardError, InputError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { readCatalog } from "../feed/catalog.ts";
import { Complaints } from "../feed/complaints.ts";
import { readMap } from "../feed/map.ts";
import type { InputSource } from "../feed/source.ts";
import { sessionAt, sessionKey, sessionStartMs, type Session } from "../market/session.ts";
import type { PublishRequest } from "../publish/request.ts";
import { tryInputs } from "../publish/try-inputs.ts";
import type { ObjectStore } from "../ports/store.ts";
import { faultOf, note, notWatched, ok, orFailure, notKnown, type Finding } from "./checks.ts";
import { ageOf, type Memory } from "./memory.ts";

/** From this time before a session on, its feeds are read often. */
const EARLY_MS = 30 * MINUTE_MS;
const OFTEN_MS = 5 * MINUTE_MS;
const STANDARD_INPUT = "standard input";
const CORRECT_FILE = "correct the file, or name another one";

/** The inputs that `publish` would read, by its options. */
export interface PublishHalf {
  /** Whether sources price on the session's day, by --closed and --holidays. Throws InputError. */
  readonly isClosedDay: (session: Session) => Promise<boolean>;
  /** Whether --holidays is given. */
  readonly hasHolidays: boolean;
  /** The request of `publish`. Throws InputError for its options and the files that they name. */
  readonly requestFor: (session: Session, isClosedDay: boolean) => Promise<PublishRequest>;
}

/** The findings, the error of the options, and what the feeds' servers said of the time when they were last read. */
export interface InputFindings {
  readonly options: ChipboardError | null;
  readonly findings: readonly Finding[];
  readonly serverTimes: readonly ServerTime[];
}

/** The session that the next run publishes: from half an hour before it begins on, the next one. */
const nextRun = (nowMs: number): Session => sessionAt(nowMs + EARLY_MS);

/** `memory`: what an earlier look read of the feeds; null: this look reads all. */
export async function checkInputs(
  half: PublishHalf,
  store: ObjectStore,
  nowMs: number,
  memory: Memory | null,
): Promise<InputFindings> {
  const session = nextRun(nowMs);
  const closed = await orFailure(() => half.isClosedDay(session));
  const isClosed = closed === true;
  const request = await orFailure(() => half.requestFor(session, isClosed));
  const holidays = checkHolidays(half, closed, session);
  if (request instanceof ChipboardError) {
    const others = (["catalog", "map"] as const).map((name) =>
      notKnown(name, "an option is wrong"),
    );
    const feeds = notKnown("feeds", "an option is wrong");
    return { options: request, findings: [...others, holidays, feeds], serverTimes: [] };
  }
  const { catalog, map } = await checkTables(request);
  const isReadable = ![catalog, map].some(({ result }) => result === "fault");
  const feeds = isReadable
    ? await checkFeeds(request, store, nowMs, isClosed, memory)
    : { finding: notKnown("feeds", "the catalog or the map cannot be read"), serverTimes: [] };
  const { finding, serverTimes } = feeds;
  return { options: null, findings: [catalog, map, holidays, finding], serverTimes };
}

function checkHolidays(
  { hasHolidays }: PublishHalf,
  closed: boolean | ChipboardError,
  session: Session,
): Finding {
  if (closed instanceof ChipboardError) return faultOf("holidays", closed, CORRECT_FILE);
  if (!hasHolidays) return notWatched("holidays", "--holidays");
  const day = closed ? "a closed day" : "no closed day";
  return ok("holidays", `the file can be read; ${sessionKey(session)} is on ${day}`);
}

async function checkTables(request: PublishRequest): Promise<{ catalog: Finding; map: Finding }> {
  const { catalog, map } = request;
  return {
    catalog: await checkFile("catalog", catalog, async (source, complaints) => {
      const { contracts } = await readCatalog(source, complaints);
      return counted(contracts.length, "contract");
    }),
    map: await checkFile("map", map, async (source, complaints) => {
      await readMap(source, complaints);
      return "can be read";
    }),
  };
}

async function checkFile(
  check: "catalog" | "map",
  source: InputSource | null,
  read: (source: InputSource, complaints: Complaints) => Promise<string>,
): Promise<Finding> {
  if (source === null) return notWatched(check, `--${check}`);
  if (source.isAnswer === true || source.name === STANDARD_INPUT) {
    return note(check, `${source.name} is read with the feeds`);
  }
  const found = await orFailure(async () => {
    const complaints = new Complaints();
    const words = await read(source, complaints);
    complaints.raise();
    return words;
  });
  return found instanceof ChipboardError
    ? faultOf(check, found, CORRECT_FILE)
    : ok(check, `${source.name}: ${found}`);
}

/** The result of reading the feeds. */
type FeedsRead = Pick<InputFindings, "serverTimes"> & { readonly finding: Finding };

const withoutTimes = (finding: Finding): FeedsRead => ({ finding, serverTimes: [] });

async function checkFeeds(
  request: PublishRequest,
  store: ObjectStore,
  nowMs: number,
  isClosedDay: boolean,
  memory: Memory | null,
): Promise<FeedsRead> {
  const { quotes, closes } = request;
  if (quotes.length + closes.length === 0) {
    return withoutTimes(notWatched("feeds", "--quotes or --closes"));
  }
  const sources = [request.catalog, request.map, ...quotes, ...closes].filter(
    (source) => source !== null,
  );
  if (sources.some(({ name }) => name === STANDARD_INPUT)) {
    return withoutTimes(note("feeds", "standard input is read by publish alone"));
  }
  const last = memory?.kept.feeds;
  const key = keyOf(request, sources);
  if (last !== undefined && last.key === key && !isDue(request.session, nowMs, last, sources)) {
    return last;
  }
  const read = await readFeeds(request, store, nowMs, isClosedDay);
  if (memory !== null && read.finding.result !== "unknown") {
    memory.kept.feeds = { atMs: nowMs, key, ...read, serverTimes: [...read.serverTimes] };
  }
  return read;
}

/** Changes with the files, and with the names of the sources. */
const keyOf = ({ session }: PublishRequest, sources: readonly InputSource[]): string =>
  JSON.stringify([
    sources.some(({ isAnswer }) => isAnswer === true) ? null : session,
    ...sources.map(({ name, isAnswer }) => {
      if (isAnswer === true) return name;
      const file = statSync(name, { throwIfNoEntry: false });
      return [name, file?.mtimeMs, file?.size, file?.ino];
    }),
  ]);

/** Files alone are read again after a fault. Servers are asked once an hour, and often before a session or after a fault. */
function isDue(
  session: Session,
  nowMs: number,
  { atMs, finding }: { readonly atMs: number; readonly finding: Finding },
  sources: readonly InputSource[],
): boolean {
  const isFault = finding.result === "fault";
  if (isFault && sources.every(({ isAnswer }) => isAnswer !== true)) return true;
  const isOften = isFault || nowMs < sessionStartMs(session);
  return ageOf(atMs, nowMs) >= (isOften ? OFTEN_MS : HOUR_MS);
}

async function readFeeds(
  request: PublishRequest,
  store: ObjectStore,
  nowMs: number,
  isClosedDay: boolean,
): Promise<FeedsRead> {
  const names = [...request.quotes, ...request.closes].map(({ name }) => name).join(", ");
  const inputs = await orFailure(() => tryInputs(request, store));
  // The store has findings of its own.
  if (inputs instanceof ChipboardError && !(inputs instanceof InputError)) {
    return withoutTimes(notKnown("feeds", inputs.message));
  }
  if (inputs instanceof InputError) {
    const remedy =
      "correct the feed or its options; chipboard publish --dry-run says whether it can be published";
    const fault = faultOf("feeds", inputs, remedy);
    // A source that does not price may be closed.
    const isClosed = isClosedDay && inputs.waitFor !== null;
    return withoutTimes(isClosed ? note("feeds", `on a closed day: ${fault.text}`) : fault);
  }
  const { given, serverTimes } = inputs;
  const read = `${counted(given.rows.quotes + given.rows.closes, "row")} of ${names}`;
  const text = `${read}, read for ${sessionKey(request.session)} at ${instantText(nowMs)}`;
  return { finding: ok("feeds", text), serverTimes };
}
