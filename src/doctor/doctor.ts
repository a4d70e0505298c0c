/**
 * `doctor`: looks over a whole service without changing it. Each check asks the code that the commands
 * themselves run, so that doctor finds a fault exactly where publish or serve would meet it.
 */
import { DAY_MS, HOUR_MS, instantText, type Clock, type ServerTime } from "../lib/clock.ts";
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
import {
  createHttpServer,
  CONNECTION_LIMITS,
  endOf,
  type Certificate,
} from "../hosts/node/server.ts";
import { feedFigures } from "../market/feed-figures.ts";
import { behindMs, overdueSessions } from "../core/serve/freshness.ts";
import { stampOf } from "../served/snapshot.ts";
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
  unknown,
  type Finding,
} from "./checks.ts";
import { askTime } from "./feed-time.ts";
import { checkPort } from "./ports.ts";
import { checkSpace } from "./space.ts";

const NAMES_SHOWN = 10;

/** What to look over: the values of the options of `serve`. */
export interface Service {
  readonly store: ObjectStore;
  /** A folder, or redis://…. */
  readonly state: string;
  /** What publish reads levels from; only an http(s) address is asked, and only for the time. */
  readonly feed: string;
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
  readonly metricsHost: string;
  /** Null: no metrics. */
  readonly metricsPort: number | null;
}

/** Runs every check, in the order of the table. Throws only on a defect. */
export async function examine(service: Service): Promise<Finding[]> {
  const { store, clock } = service;
  const state = await orFailure(() => surveyState(service.state));
  const files = await orFailure(service.readFiles);
  const verifyKeys = files instanceof ChipboardError ? null : files;
  const end = await orFailure(() => readLogEnd(store));
  const isAway = end instanceof UnreachableError;
  const head = isAway ? end : await orFailure(() => findSnapshot(store, "head"));
  const tls = await orFailure(service.readTls);
  const isTls = tls !== null && !(tls instanceof ChipboardError);
  const feedTime = await askTime(service.feed);
  const nowMs = clock.now();
  return [
    checkClock(service, end, feedTime, nowMs),
    await checkStore(store, end),
    isAway
      ? unknown("lost", "the store is away")
      : await checkLost(store, state instanceof ChipboardError ? null : state.seen),
    isAway ? unknown("condition", "the store is away") : await checkCondition(store, end),
    isAway ? unknown("head", "the store is away") : await checkHead(store, head, verifyKeys),
    await checkSpace(store.location, service.state),
    ...checkState(service.state, state),
    checkAge(service, head, nowMs),
    ...checkFeed(head),
    await checkPort("port", service.host, service.port, isTls),
    await checkPort("metrics-port", service.metricsHost, service.metricsPort, false),
    files instanceof ChipboardError
      ? faultOf("options", files, "correct the file, or name another one")
      : ok("options", "the files that options name can be used"),
    checkCertificate(tls, nowMs),
  ];
}

function checkClock(
  { store, maxGapSessions, isClockSet, graceMs }: Service,
  end: LogEnd | ChipboardError,
  feedTime: ServerTime | null,
  nowMs: number,
): Finding {
  const { newest, head } = end instanceof ChipboardError ? { newest: null, head: null } : end;
  const serverTimes = feedTime === null ? [] : [feedTime];
  const refusals = timeFindings(store, newest, nowMs, { maxGapSessions, serverTimes });
  const remedy = "set the clock (timedatectl); publish refuses until then";
  if (refusals.length > 0) {
    return beyondLimit("clock", refusals.map(({ text }) => text).join("; "), remedy);
  }
  const behind = head === null ? 0 : behindMs(stampOf(head, graceMs), nowMs);
  if (behind > 0) {
    const text = `${instantText(nowMs)} is ${hours(behind)} before the session of the head`;
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
  if (seen === null) return unknown("lost", "the state does not answer");
  const lost = await orFailure(async () => {
    const remembered = seenOf(seen, await namesOf(store));
    return { remembered, why: remembered && (await lossOf(store, remembered)) };
  });
  // The head's line names damage.
  if (lost instanceof ChipboardError) return unknown("lost", lost.message);
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
  return faultOf("condition", failure, "use a store that creates an object only if it is absent");
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
): Finding[] {
  const place = shownLocation(location);
  if (state instanceof ChipboardError) {
    return [
      faultOf("state", state, "bring it back, restore a backup, or name another one"),
      unknown("writes", "the state does not answer"),
      unknown("policy", "the state does not answer"),
    ];
  }
  const { accounts, refusal, eviction } = state;
  const answers = `${place} answers and has its mark; ${counted(accounts, "account")}`;
  return [
    accounts === 0 ? note("state", answers, "chipboard accounts add") : ok("state", answers),
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
  { graceMs }: Service,
  head: FoundSnapshot | ChipboardError,
  nowMs: number,
): Finding {
  if (head instanceof ChipboardError || head.publication === null) {
    return unknown("age", "there is no head");
  }
  const stamp = stampOf(head.publication, graceMs);
  const age = `session ${sessionKey(head.name.session)}, published at ${instantText(stamp.publishedAtMs)}`;
  const overdue = overdueSessions(stamp, nowMs);
  if (overdue === 0) return ok("age", age);
  const remedy = "journalctl --unit chipboard-publish; then publish the session";
  return beyondLimit("age", `${age}; ${counted(overdue, "session")} overdue`, remedy);
}

function checkFeed(head: FoundSnapshot | ChipboardError): Finding[] {
  if (head instanceof ChipboardError || head.publication === null) {
    return (["unchanged", "still", "carried"] as const).map((name) =>
      unknown(name, "there is no head"),
    );
  }
  const { manifest } = head;
  const { headMs } = stampOf(head.publication, 0);
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
      ? note("still", `${still} not moved for long${named(manifest.movement?.still ?? [])}`, show)
      : ok("still", "no contract stands still"),
    carriedContracts > 0
      ? note(
          "carried",
          `${carried} without a level for the session${named(manifest.carried)}`,
          show,
        )
      : ok("carried", "each contract has a level for the session"),
  ];
}

const named = (contracts: readonly { readonly id: string }[]): string => {
  const ids = contracts.slice(0, NAMES_SHOWN).map(({ id }) => id);
  return `: ${ids.join(", ")}${contracts.length > NAMES_SHOWN ? ", …" : ""}`;
};

function checkCertificate(tls: Certificate | null | ChipboardError, nowMs: number): Finding {
  const remedy = "renew it, then systemctl reload chipboard.service";
  if (tls instanceof ChipboardError) return faultOf("certificate", tls, remedy);
  if (tls === null) return ok("certificate", "none: this proxy serves plain HTTP");
  try {
    createHttpServer(CONNECTION_LIMITS, tls);
  } catch (error) {
    if (error instanceof ChipboardError) return faultOf("certificate", error, remedy);
    throw error;
  }
  const endMs = endOf(tls);
  const text = `ends ${instantText(endMs)}, in ${Math.floor((endMs - nowMs) / DAY_MS)} days`;
  const isEnding = endMs - nowMs < ALERT_LIMITS.certificateDays * DAY_MS;
  return isEnding ? beyondLimit("certificate", text, remedy) : ok("certificate", text);
}

const hours = (ms: number): string => `${(ms / HOUR_MS).toFixed(1)} hours`;
