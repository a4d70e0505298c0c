/**
 * Measures whether anything slows down with the age of a service. Each session of some years is published by itself
 * into a store in memory, from a part of the demonstration market, with a correction every month. Each week the store is
 * pruned, and the state is backed up. At the end of each half-year the store is copied into a folder, of the first and
 * the last one also to S3, and works there. All runs share this process, so that no time has the start of a process in it.
 */
import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { readDemoContracts, demoCatalogPath } from "../../src/demo/demo-catalog.ts";
import { demoCsv, demoHistory, type DemoQuote } from "../../src/demo/demo-feed.ts";
import { DEMO_FIRST_SESSION } from "../../src/demo/demo-series.ts";
import { copyStore } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import type { InputSource } from "../../src/feed/source.ts";
import {
  dateText,
  dayOf,
  SESSIONS_PER_DAY,
  sessionStartMs,
  type Session,
} from "../../src/market/session.ts";
import { publish } from "../../src/publish/publish.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";
import { logLength, readLog } from "../../src/snapshot/log/walk.ts";
import { markStore } from "../../src/snapshot/store-mark.ts";
import { backUpState } from "../../src/state/copy-state.ts";
import { openAccounts, withRegistry } from "../../src/state/open.ts";
import type { Subject } from "../../src/ports/state.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import { testService } from "../../test/services/services.ts";
import { median, type BenchOptions, type Section, type Target } from "./section.ts";
import { sent } from "./sent.ts";
import { folderPlace, s3Place, type Place } from "./signed-store.ts";
import { appendRollbacks } from "./vintage-store.ts";

const SESSIONS_A_WEEK = 7 * SESSIONS_PER_DAY;
const SESSIONS_A_HALF_YEAR = 365;
/** One contract of so many is taken. */
const EVERY = 12;
const KEEP_DAYS = 30;
/** How many sessions are published into each folder and to S3. */
const PUBLISHED_ELSEWHERE = 3;
const PUBLISHED_AFTER_MS = 300_000;
/** All rollbacks of a half-year fit between two sessions. */
const ROLLBACK_EVERY_MS = 60_000;
const ACCOUNTS = 50;
/** About once a month, and never in the session of a prune. */
const CORRECTED_EVERY = 61;
/** An index of one contract moves by less than the gate `series` refuses. */
const MISPRINT = 1.005;
/** How much slower the last half-year may be than the half-year in the middle. */
const GROWTH_MAX = 2;

const GATES = {
  ...USUAL_LIMITS,
  // So few contracts may have no level at all on a weekend, and one of them moves an index.
  minCoverageMicros: 1_000_000,
  maxUnchangedSessions: 99,
  maxGapSessions: SESSIONS_A_HALF_YEAR,
  maxIndexMoveMicros: 1_000_000_000,
  maxBoardMoveMicros: 1_000_000_000,
  acceptMoves: true,
  allowSparse: true,
} as const;

/** What one piece of work took. */
interface Took {
  readonly ms: number;
  readonly cpuMs: number;
  readonly requests: number;
}

const WORK = ["publish", "read the log", "prune", "copy", "copy again", "backup"] as const;
type Work = (typeof WORK)[number];

/** A store at the end of a half-year: what each work took, and what there was. */
interface Age {
  readonly place: string;
  readonly end: string;
  readonly took: Readonly<Record<Work, Took[]>>;
  objects: number;
  bytes: number;
  entries: number;
}

export async function benchYears(options: BenchOptions): Promise<Section> {
  const { folder, years, singly, say } = options;
  const s3 = testService("s3");
  const market = readMarket();
  const memory = new MemoryStore();
  const state = await ageingState(join(folder, "state"));
  const ages: Age[] = [];
  await markStore(memory, sessionStartMs(DEMO_FIRST_SESSION));
  const last = DEMO_FIRST_SESSION + years * 2 * SESSIONS_A_HALF_YEAR - 1;
  let age = newAge("memory", DEMO_FIRST_SESSION);
  let wrong: readonly DemoQuote[] = [];
  let waiting: (readonly DemoQuote[])[] = [];
  let at = 0;
  for (const rows of demoHistory(DEMO_FIRST_SESSION, last)) {
    const session = DEMO_FIRST_SESSION + at;
    const { now } = clockIn(session);
    const quotes = rows.filter(({ id }) => market.ids.has(id));
    await state.call(now());
    at += 1;
    const isLate = (at - 1) % SESSIONS_A_HALF_YEAR < SESSIONS_A_HALF_YEAR - singly;
    if (isLate) waiting.push(quotes);
    if (isLate) continue;
    const isWrong = at % CORRECTED_EVERY === 0;
    const given = [...waiting, [...wrong, ...(isWrong ? quotes.map(misprinted) : quotes)]];
    const took = await timed(() =>
      publishRows(memory, market.catalog, session, given, wrong.length > 0),
    );
    if (waiting.length === 0) age.took.publish.push(took);
    else await appendRollbacks(memory, waiting.length, ROLLBACK_EVERY_MS);
    waiting = [];
    wrong = isWrong ? quotes.slice(0, 1) : [];
    if (at % SESSIONS_A_WEEK === 0) {
      age.took["read the log"].push(await timed(() => readLog(memory)));
      age.took.prune.push(await timed(() => prune(memory, KEEP_DAYS, false, { now })));
      age.took.backup.push(await timed(() => state.backUp(now())));
    }
    if (at % SESSIONS_A_HALF_YEAR > 0) continue;
    const isEnd = at === SESSIONS_A_HALF_YEAR || session === last;
    const places = [
      folderPlace(join(folder, `store-${at}`)),
      ...(s3 === null || !isEnd ? [] : [s3Place(s3.env)]),
    ];
    const add = (aged: Age): void => {
      ages.push(aged);
      say(`years: ${cellsOf(aged).join(" | ")}`);
    };
    add(Object.assign(age, await contentOf(memory)));
    for (const place of places) add(await ageAt(place, memory, session, market));
    age = newAge("memory", session + 1);
  }
  await state.close();
  s3?.stop();
  return sectionOf(ages, options, state.backupBytes());
}

/** Brings the store to a place, and works there: with the session and the two sessions after it. */
async function ageAt(
  place: Place,
  memory: MemoryStore,
  session: Session,
  { ids, catalog }: Market,
): Promise<Age> {
  const store = await place.open();
  const age = newAge(place.name, session - SESSIONS_A_HALF_YEAR + 1);
  const { took } = age;
  const copy = (): Promise<unknown> => copyStore(memory, store, false, () => {}, true);
  took.copy.push(await timed(copy));
  took["copy again"].push(await timed(copy));
  Object.assign(age, await contentOf(store));
  took["read the log"].push(await timed(() => readLog(store)));
  let next = session;
  for (const rows of demoHistory(session + 1, session + PUBLISHED_ELSEWHERE)) {
    next += 1;
    const quotes = rows.filter(({ id }) => ids.has(id));
    took.publish.push(await timed(() => publishRows(store, catalog, next, [quotes], false)));
  }
  took.prune.push(await timed(() => prune(store, KEEP_DAYS, false, clockIn(next))));
  await store.close();
  return age;
}

async function publishRows(
  store: ObjectStore,
  catalog: string,
  session: Session,
  given: readonly (readonly DemoQuote[])[],
  revises: boolean,
): Promise<void> {
  await publish(
    {
      ...USUAL_REQUEST,
      catalog: textSource("the catalog", catalog),
      quotes: given.map((rows) => textSource("the quotes", [...demoCsv([rows])].join(""))),
      session,
      attribution: "Illustrative",
      revise: revises ? "The source corrected a misprint" : null,
      gates: { ...GATES, accept: [] },
    },
    store,
    clockIn(session),
    () => {},
  );
}

const clockIn = (session: Session) => ({ now: () => sessionStartMs(session) + PUBLISHED_AFTER_MS });

/** A level that is a little too high, for the first contract. */
const misprinted = (quote: DemoQuote, at: number): DemoQuote =>
  at > 0 ? quote : { ...quote, spot_usd: (Number(quote.spot_usd) * MISPRINT).toFixed(6) };

const newAge = (place: string, from: Session): Age => ({
  place,
  end: dateText(dayOf(from + SESSIONS_A_HALF_YEAR - 1)),
  took: { publish: [], "read the log": [], prune: [], copy: [], "copy again": [], backup: [] },
  objects: 0,
  bytes: 0,
  entries: 0,
});

interface Market {
  readonly ids: ReadonlySet<string>;
  readonly catalog: string;
}

/** The part of the demonstration's market that had prices from its first session on, and has them to its last. */
function readMarket(): Market {
  const [header, ...lines] = readFileSync(demoCatalogPath, "utf8").trimEnd().split("\n");
  const contracts = readDemoContracts()
    // Without a flag, the first ten are free.
    .map((contract, at) => ({ ...contract, line: (lines[at] ?? "").replace(",true,", ",,") }))
    .filter(({ listed, delistedOn }) => listed === null && delistedOn === null)
    .filter((_, at) => at % EVERY === 0);
  return {
    ids: new Set(contracts.map(({ id }) => id)),
    catalog: [header, ...contracts.map(({ line }) => line)].join("\n"),
  };
}

const textSource = (name: string, text: string): InputSource => ({
  name,
  format: "csv",
  async *open() {
    yield Buffer.from(text);
  },
});

/** A state with accounts, each of which calls once a session. */
async function ageingState(location: string) {
  let nowMs = sessionStartMs(DEMO_FIRST_SESSION);
  const clock = { now: () => nowMs };
  const keys = await withRegistry(location, clock, "create", async (registry) => {
    const ids: string[] = [];
    for (let at = 0; at < ACCOUNTS; at += 1) {
      await registry.addAccount(`account-${at}`, "pro", null);
      ids.push((await registry.createKey(`account-${at}`, null)).key);
    }
    return ids;
  });
  const accounts = await openAccounts(location, clock);
  let backups = 0;
  let last = `${location}-0.sqlite`;
  return {
    async call(atMs: number): Promise<void> {
      nowMs = atMs;
      // Calls of one turn are counted in one step.
      await Promise.all(
        keys.map(async (key) => {
          const { subject, keyId } = await accounts.verdicts.authenticate(key);
          return accounts.counts.take(subject as Subject, null, atMs, keyId);
        }),
      );
    },
    backUp(atMs: number) {
      rmSync(last, { force: true });
      last = `${location}-${(backups += 1)}.sqlite`;
      return backUpState(location, last, atMs);
    },
    backupBytes: () => statSync(last).size,
    close: () => accounts.close(),
  };
}

async function contentOf(
  store: ObjectStore,
): Promise<{ objects: number; bytes: number; entries: number }> {
  const sum = { objects: 0, bytes: 0, entries: await logLength(store) };
  for await (const { sizeBytes } of store.list("")) {
    sum.objects += 1;
    sum.bytes += sizeBytes;
  }
  return sum;
}

async function timed(work: () => Promise<unknown>): Promise<Took> {
  const [startedAt, cpu, { requests }] = [performance.now(), process.cpuUsage(), sent];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return {
    ms: performance.now() - startedAt,
    cpuMs: (user + system) / 1_000,
    requests: sent.requests - requests,
  };
}

const medianOf = (took: readonly Took[], of: keyof Took): number =>
  took.length === 0 ? NaN : median(took.map((each) => each[of]));

const MB = (bytes: number): string => (bytes / 1e6).toFixed(1);

function cellsOf({ place, end, took, objects, bytes, entries }: Age): string[] {
  const work = WORK.map((name) => {
    if (took[name].length === 0) return "";
    return `${medianOf(took[name], "ms").toFixed(0)} (${medianOf(took[name], "cpuMs").toFixed(0)})`;
  });
  const requests = String(medianOf(took.publish, "requests"));
  return [place, end, ...work, requests, String(entries), String(objects), MB(bytes)];
}

function sectionOf(
  ages: readonly Age[],
  { years, singly }: BenchOptions,
  backupBytes: number,
): Section {
  return {
    title: "Years",
    columns: [
      "store",
      "half-year until",
      ...WORK.map((work) => `${work}: ms (processor)`),
      "requests of a publish",
      "entries",
      "objects",
      "MB",
    ],
    rows: ages.map(cellsOf),
    notes: [
      `${years * 730} sessions in memory, pruned each week (--keep-days ${KEEP_DAYS}). Of each half-year ` +
        `${singly} sessions are published one by one; those before come in one run, and rollbacks bring the log to its length. ` +
        "Medians of half-years. At each end, the store is copied twice into a new folder, and at the first and the last one to S3; " +
        `${PUBLISHED_ELSEWHERE} more sessions are published there, and it is pruned. ` +
        `The last backup of the state, with ${ACCOUNTS} accounts that call in each session, has ${MB(backupBytes)} MB.`,
    ],
    targets: [...new Set(ages.map(({ place }) => place))].flatMap((place) =>
      targetsOf(ages.filter((age) => age.place === place)),
    ),
    figures: {},
  };
}

function targetsOf(ages: readonly Age[]): Target[] {
  const [middle, last] = [ages[ages.length >> 1], ages.at(-1)];
  if (middle === undefined || last === undefined || middle === last) return [];
  return WORK.filter((work) => last.took[work].length > 0).map((work) => {
    const growth = medianOf(last.took[work], "cpuMs") / medianOf(middle.took[work], "cpuMs");
    return {
      text: `${last.place}: ${work} takes at the end at most ${GROWTH_MAX} times the processor time of half of the years`,
      met: growth <= GROWTH_MAX,
      figure: growth.toFixed(2),
    };
  });
}
