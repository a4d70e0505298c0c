/**
 * `doctor`: looks over a whole service without changing it. Each check asks the code that the commands
 * themselves run, so that doctor finds a fault exactly where publish or serve would meet it.
 */
import { HOUR_MS, instantText, type Clock, type ServerTime } from "../lib/clock.ts";
import { shownLocation } from "../lib/secrets.ts";
import {
  ChipboardError,
  DamageError,
  EXIT,
  LostStoreError,
  UnfitError,
  UnreachableError,
} from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import type { Certificate } from "../hosts/node/server.ts";
import { feedFigures } from "../market/feed-figures.ts";
import { behindMs, overdueSessions, makeStamp } from "../core/serve/freshness.ts";
import { findSnapshot, type FoundSnapshot } from "../desk/find-snapshot.ts";
import { verifySnapshots } from "../desk/verify.ts";
import { sessionKey } from "../market/session.ts";
import { timeFindings } from "../snapshot/log/time-gates.ts";
import { readLogEnd, type LogEnd } from "../snapshot/log/walk.ts";
import { requireStoreMark } from "../snapshot/store-mark.ts";
import { lossOf, namesOf, seenOf, type SeenLog } from "../snapshot/log/lost.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { surveyState } from "../state/open.ts";
import type { ObjectStore } from "../ports/store.ts";
import { snapshotText } from "../store/paths.ts";
import {
  ALERT_LIMITS,
  beyondLimit,
  faultOf,
  note,
  ok,
  orFailure,
  notKnown,
  type Finding,
} from "./checks.ts";
import { checkBackup, checkDrill } from "./backups.ts";
import { checkCertificate } from "./certificate.ts";
import { checkInputs, type PublishHalf } from "./inputs.ts";
import { checkJobs } from "./jobs.ts";
import { lookSeldom, type Memory } from "./memory.ts";
import { checkMetricsPort, checkProxyPort, checkPublic } from "./ports.ts";
import { checkSpace } from "./space.ts";
import { addressOf, checkTimers, checkUnits, readUnits, type JobName } from "./units.ts";

const NAMES_SHOWN = 10;

/** The service to look over, by the options of `serve` and `publish`. */
export interface WatchedService {
  readonly store: ObjectStore;
  /** A folder, or redis://…. */
  readonly state: string;
  readonly publish: PublishHalf;
  /** Reads the files that options name, and returns the keys of --verify-key; null: none are named. */
  readonly readFiles: () => Promise<readonly VerifyKey[] | null>;
  /** Reads certificate and key; null: plain HTTP. */
  readonly readTls: () => Promise<Certificate | null>;
  readonly clock: Clock;
  /** Whether CHIPBOARD_NOW sets the clock. */
  readonly isClockSet: boolean;
  readonly graceMs: number;
  readonly maxGapSessions: number;
  readonly host: string;
  readonly port: number;
  /** Null: not given. */
  readonly publicUrl: string | null;
  readonly metricsHost: string;
  /** Null: no metrics. */
  readonly metricsPort: number | null;
  /** For how many days snapshots are kept; null: all are. */
  readonly keepDays: number | null;
  /** The location of `--backup`; null: not given. */
  readonly backup: string | null;
}

/** A look at a service. */
export interface Look extends WatchedService {
  /** The findings of earlier looks. This one changes it. */
  readonly memory: Memory;
  /** Whether this look may rely on earlier ones, and restores the backup each week. */
  readonly isGuard: boolean;
}

/** Costly checks of `guard` are made so often. */
const SELDOM_MS = HOUR_MS;

/** Runs every check but `notices`, `ping` and `memory`, in the order of the table. Throws only on a defect. */
export async function examine(service: Look): Promise<Finding[]> {
  const { store, clock, memory, isGuard } = service;
  const state = await orFailure(() => surveyState(service.state));
  const files = await orFailure(service.readFiles);
  const verifyKeys = files instanceof ChipboardError ? null : files;
  const end = await orFailure(() => readLogEnd(store));
  const isAway = end instanceof UnreachableError;
  const head = isAway ? end : await orFailure(() => findSnapshot(store, "head"));
  const tls = await orFailure(service.readTls);
  const isTls = tls !== null && !(tls instanceof ChipboardError);
  const nowMs = clock.now();
  const kept = isGuard ? memory : null;
  const inputs = await checkInputs(service.publish, store, nowMs, kept);
  const seldom = { nowMs, ageMs: SELDOM_MS };
  const logKey = `${store.location} ${end instanceof ChipboardError ? "" : end.newest?.sha256}`;
  const units = await readUnits();
  const publicly = await checkPublic(service.publicUrl);
  const isReached = publicly.result === "ok";
  const socket = addressOf(units);
  const { host, port } = service;
  const { finding: backup, backup: newestBackup } = await checkBackup(
    service.backup,
    end,
    nowMs,
    memory,
  );
  return [
    checkClock(service, end, inputs.serverTimes, nowMs),
    await checkStore(store, end),
    isAway
      ? notKnown("lost", "the store is away")
      : await checkLost(store, state instanceof ChipboardError ? null : state.seen),
    isAway
      ? notKnown("condition", "the store is away")
      : await lookSeldom(kept, "condition", store.location, seldom, () =>
          checkCondition(store, end),
        ),
    isAway
      ? notKnown("head", "the store is away")
      : await lookSeldom(kept, "head", logKey, seldom, () => checkHead(store, head, verifyKeys)),
    await checkSpace(store.location, service.state),
    ...checkState(service.state, state, memory),
    checkAge(service, head, nowMs),
    ...checkFeed(head),
    await checkProxyPort({ host, port, isTls, socket, isReached }),
    publicly,
    await checkMetricsPort(service.metricsHost, service.metricsPort),
    checkOptions(files, inputs.options),
    await checkCertificate(tls, service.publicUrl, nowMs),
    checkUnits(units, memory.restarts, memory.told.units !== undefined),
    ...inputs.findings,
    ...(await checkJobs(store, end, service.keepDays, nowMs, memory)),
    backup,
    await checkDrill(service.backup, newestBackup, nowMs, memory, isGuard),
    checkTimers(units, jobsOf(service, inputs.findings)),
  ];
}

function checkClock(
  { store, maxGapSessions, isClockSet, graceMs }: WatchedService,
  end: LogEnd | ChipboardError,
  serverTimes: readonly ServerTime[],
  nowMs: number,
): Finding {
  const { newest, head } = end instanceof ChipboardError ? { newest: null, head: null } : end;
  const refusals = timeFindings(store, newest, nowMs, { maxGapSessions, serverTimes });
  const remedy = "set the clock (timedatectl); publish refuses until then";
  if (refusals.length > 0) {
    return beyondLimit("clock", refusals.map(({ text }) => text).join("; "), remedy);
  }
  const behind = head === null ? 0 : behindMs(makeStamp(head, graceMs), nowMs);
  if (behind > 0) {
    const text = `${instantText(nowMs)} is ${exactHours(behind)} before the session of the head`;
    return beyondLimit("clock", text, remedy);
  }
  const servers = [
    ...serverTimes,
    ...[store.serverTime?.() ?? null].filter((each) => each !== null),
  ];
  const names = servers.map(({ by }) => by).join(" and ");
  const compared = names === "" ? "no server to compare it with" : `within 5 minutes of ${names}`;
  const text = `${instantText(nowMs)}, ${compared}`;
  if (!isClockSet) return ok("clock", text);
  return note(
    "clock",
    `${text}; CHIPBOARD_NOW sets it`,
    "unset CHIPBOARD_NOW outside of rehearsals",
  );
}

const BRING_STORE_BACK = "bring it back: disk or S3 server, network, credentials";

async function checkStore(store: ObjectStore, end: LogEnd | ChipboardError): Promise<Finding> {
  const { location } = store;
  if (end instanceof UnreachableError) {
    return faultOf("store", end, BRING_STORE_BACK);
  }
  // The head's line names damage.
  if (end instanceof ChipboardError) return ok("store", `${location} answers`);
  const { newest } = end;
  if (newest !== null) {
    return ok("store", `${location} answers; entry ${newest.entry.number} is the newest`);
  }
  const unmarked = await orFailure(() => requireStoreMark(store));
  return unmarked instanceof ChipboardError
    ? faultOf(
        "store",
        unmarked,
        "name the right store or bring its disk back; only for a new one, chipboard store init",
      )
    : note(
        "store",
        `${location} answers and has its mark; nothing is published there`,
        "chipboard publish",
      );
}

/** `seen` null: the state does not answer. */
async function checkLost(store: ObjectStore, seen: readonly SeenLog[] | null): Promise<Finding> {
  if (seen === null) return notKnown("lost", "the state does not answer");
  const lost = await orFailure(async () => {
    const remembered = seenOf(seen, await namesOf(store));
    return { remembered, why: remembered && (await lossOf(store, remembered)) };
  });
  // The head's line names damage.
  if (lost instanceof ChipboardError) return notKnown("lost", lost.message);
  const { remembered, why } = lost;
  if (why !== null) {
    const remedy =
      "bring the disk or bucket back, or restore a copy and run chipboard state forget-log; do not publish before";
    return faultOf("lost", new LostStoreError(why), remedy);
  }
  return ok(
    "lost",
    remembered === null
      ? "the state has seen no log of this store yet"
      : `entry ${remembered.number}, the newest that proxies of this state have served, is there`,
  );
}

/** Publish proves it each time; a store that does not exist yet is not created for it. */
async function checkCondition(store: ObjectStore, end: LogEnd | ChipboardError): Promise<Finding> {
  const isWhole = !(end instanceof ChipboardError);
  const isThere = !isWhole || end.newest !== null;
  const failure = await orFailure(() => (isThere ? store.prove() : store.mayWrite()));
  if (!(failure instanceof ChipboardError)) {
    return ok("condition", isThere ? "of several writers one creates an object" : "may be written");
  }
  // A proxy reads only.
  if (failure instanceof UnfitError && isWhole) {
    return note(
      "condition",
      `this user may not write: ${failure.message}`,
      "nothing on a machine that only serves; run doctor where publish runs",
    );
  }
  return faultOf(
    "condition",
    failure,
    failure instanceof UnfitError
      ? "give this user the right to write there"
      : "make room on its disk, bring it back, or use a store that creates an object only if it is absent",
  );
}

async function checkHead(
  store: ObjectStore,
  head: FoundSnapshot | ChipboardError,
  verifyKeys: readonly VerifyKey[] | null,
): Promise<Finding> {
  const remedy = "chipboard snapshots verify --all, then repair or restore";
  const faultOfHead = (error: ChipboardError): Finding =>
    faultOf("head", error, error instanceof UnreachableError ? BRING_STORE_BACK : remedy);
  if (head instanceof ChipboardError) {
    const begin = "where nothing was published before, chipboard publish; otherwise see lost";
    return head.exitCode === EXIT.input ? faultOf("head", head, begin) : faultOfHead(head);
  }
  const verified = await orFailure(() => verifySnapshots(store, "head", verifyKeys));
  if (verified instanceof ChipboardError) return faultOfHead(verified);
  const { damages, files, bytes, entries } = verified;
  const name = snapshotText(head.name);
  if (damages.length > 0) {
    const more = damages.length > 3 ? `; ${damages.length - 3} more` : "";
    const text = `${name}: ${damages.slice(0, 3).join("; ")}${more}`;
    return faultOf("head", new DamageError(text), remedy);
  }
  const signed = verifyKeys === null ? "" : ", signed by a key of --verify-key";
  const read = `${counted(files, "file")} (${(bytes / 1e6).toFixed(1)} MB)`;
  return ok(
    "head",
    `${name}: ${read} and ${counted(entries, "entry", "entries")} are whole${signed}`,
  );
}

function checkState(
  location: string,
  state: Awaited<ReturnType<typeof surveyState>> | ChipboardError,
  memory: Memory,
): Finding[] {
  const place = shownLocation(location);
  if (state instanceof ChipboardError) {
    return [
      faultOf("state", state, "bring it back, restore a backup, or name another one"),
      notKnown("writes", "the state does not answer"),
      notKnown("policy", "the state does not answer"),
    ];
  }
  const { accounts, refusal, eviction } = state;
  const answers = `${place} answers and has its mark; ${counted(accounts, "account")}`;
  // Restarted from an empty one, the service refuses every key without an error.
  const isEmptied = memory.hadAccounts && !state.hadAccounts;
  memory.hadAccounts ||= state.hadAccounts;
  return [
    isEmptied
      ? faultOf(
          "state",
          new UnreachableError(`${place} never had an account, and earlier looks found some`),
          "name the right one, or restore a backup",
        )
      : accounts === 0
        ? note("state", answers, "chipboard accounts add")
        : ok("state", answers),
    refusal === null
      ? ok("writes", "the state takes writes")
      : faultOf(
          "writes",
          new UnreachableError(`${place} takes no writes: ${refusal}`),
          "make room in its memory or on its disk, bring its replicas back, or give its user the rights",
        ),
    eviction === null
      ? ok("policy", "drops nothing when its memory is full")
      : faultOf("policy", eviction, "redis-cli config set maxmemory-policy noeviction"),
  ];
}

function checkAge(
  { graceMs }: WatchedService,
  head: FoundSnapshot | ChipboardError,
  nowMs: number,
): Finding {
  if (head instanceof ChipboardError || head.publication === null) {
    return notKnown("age", "there is no head");
  }
  const stamp = makeStamp(head.publication, graceMs);
  const age = `session ${sessionKey(head.name.session)}, published at ${instantText(stamp.publishedAtMs)}`;
  const overdue = overdueSessions(stamp, nowMs);
  if (overdue === 0) return ok("age", age);
  const remedy = "journalctl --unit chipboard-publish; then publish the session";
  return beyondLimit("age", `${age}; ${counted(overdue, "session")} overdue`, remedy);
}

function checkFeed(head: FoundSnapshot | ChipboardError): Finding[] {
  if (head instanceof ChipboardError || head.publication === null) {
    return (["unchanged", "still", "carried"] as const).map((name) =>
      notKnown(name, "there is no head"),
    );
  }
  const { manifest } = head;
  const { headMs } = makeStamp(head.publication, 0);
  const { unchangedSessions, stillContracts, carriedContracts } = feedFigures(manifest, headMs);
  const show = "chipboard snapshots show; compare the feed with its source";
  const isClosed = manifest.options["closed_day"] === true;
  const unmoved =
    `no level has moved for ${counted(unchangedSessions, "session")}` +
    (isClosed ? ", up to a closed day" : "");
  const limit = ALERT_LIMITS.unchangedSessions;
  const still = counted(stillContracts, "contract");
  const carried = counted(carriedContracts, "contract");
  return [
    unchangedSessions > limit && !isClosed
      ? beyondLimit("unchanged", `${unmoved}, expected at most ${limit}`, show)
      : ok("unchanged", unchangedSessions === 0 ? "levels have moved" : unmoved),
    stillContracts > 0
      ? note(
          "still",
          `${still} not moved for long${namesText(manifest.movement?.still ?? [])}`,
          show,
        )
      : ok("still", "no contract stands still"),
    carriedContracts > 0
      ? note(
          "carried",
          `${carried} without a level for the session${namesText(manifest.carried)}`,
          show,
        )
      : ok("carried", "each contract has a level for the session"),
  ];
}

const namesText = (contracts: readonly { readonly id: string }[]): string => {
  const ids = contracts.slice(0, NAMES_SHOWN).map(({ id }) => id);
  return `: ${ids.join(", ")}${contracts.length > NAMES_SHOWN ? ", …" : ""}`;
};

function checkOptions(
  files: readonly VerifyKey[] | null | ChipboardError,
  publish: ChipboardError | null,
): Finding {
  const wrong = files instanceof ChipboardError ? files : publish;
  return wrong === null
    ? ok("options", "the options, and the files that they name, can be used")
    : faultOf("options", wrong, "correct the file, or name another one");
}

/** The jobs that this service has, by its options. */
function jobsOf(
  { backup, keepDays }: WatchedService,
  inputs: readonly Finding[],
): ReadonlySet<JobName> {
  const isFed = inputs.some(({ check, result }) => check === "feeds" && result !== "not watched");
  return new Set([
    ...(isFed ? (["publish"] as const) : []),
    ...(backup === null ? [] : (["backup"] as const)),
    ...(keepDays === null ? [] : (["prune"] as const)),
  ]);
}

const exactHours = (ms: number): string => `${(ms / HOUR_MS).toFixed(1)} hours`;
