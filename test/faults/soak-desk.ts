/** What operators do in a soak: roll back, correct, prune; suspend, rotate and revoke keys. */
import { verifySnapshots } from "../../src/inspect/verify.ts";
import { sessionUtc } from "../../src/market/session.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { same } from "./soak-answers.ts";
import type { Account, KeyedCaller, Verdict } from "./soak-callers.ts";
import { checkLog, checkMarket, checkProxies } from "./soak-checks.ts";
import type { SoakLife } from "./soak-life.ts";
import { changesCsv, quotesCsv, type Change } from "./soak-market.ts";
import { requireCode } from "./soak-program.ts";
import type { SoakFault } from "./soak-publishing.ts";
import { PRICES } from "./soak-routes.ts";
import { within } from "./soak-time.ts";

/** A running proxy follows a change of accounts and keys within this time. */
const FOLLOWS_MS = 5_000;
const KEPT_DAYS = "2";
const HOUR_MS = 3_600_000;
/** Ends between two sessions. */
const OVERLAP_HOURS = 18;

export const DESK: readonly SoakFault[] = [
  { name: "rolled back, published again", run: (life) => goBack(life, () => checkedHead(life)) },
  { name: "revision", run: publishRevision },
  { name: "pruned under load", run: prune },
  { name: "key suspended, resumed", run: suspendKey },
  { name: "account suspended, resumed", run: suspendAccount },
  { name: "key rotated", run: rotateKey },
  { name: "key revoked, another made", run: revokeKey },
];

/**
 * Rolls back to the last snapshot of an earlier session, sees `meanwhile` to the end, and publishes
 * the session again, which needs a reason.
 */
export async function goBack(life: SoakLife, meanwhile: () => Promise<unknown>): Promise<void> {
  const log = (await checkLog(life), life.log);
  const earlier = log.findLast(({ session }) => session < life.session);
  if (earlier === undefined) throw new Error("Nothing to roll back to");
  const target = snapshotText(earlier);
  requireCode(await life.desk("rollback", target, "--reason", "wrong feed"), "rollback", 0);
  life.publications += 1;
  life.market.restore(stateOf(life, target));
  await meanwhile();
  const path = life.feedFile("again.csv", quotesCsv(life.quotes));
  requireCode(await life.publish(path), "publish of what was withdrawn", 4);
  const ran = await life.publish(path, ["--revise", "the feed was right"]);
  requireCode(ran, "publish with a reason", 0);
  life.adopt(ran, () => life.market.accept(life.quotes));
}

/** Some levels of the last days are added, changed or taken back. */
export async function publishRevision(life: SoakLife): Promise<void> {
  let changes: Change[] = [];
  while (changes.length === 0) changes = life.market.drawChanges(sessionUtc(life.session));
  const path = life.feedFile("fix.csv", changesCsv(changes));
  requireCode(await life.publish(path), "publish of changes without a reason", 4);
  const reason = `correction ${life.publications}`;
  const ran = await life.publish(path, ["--revise", reason]);
  requireCode(ran, "publish --revise", 0);
  life.adopt(ran, (snapshot) => life.market.change(changes, reason, snapshot));
}

async function prune(life: SoakLife): Promise<void> {
  requireCode(await life.desk("prune", "--keep-days", KEPT_DAYS), "prune", 0);
  const { damages } = await verifySnapshots(life.store, null);
  same(damages.join("\n"), "", "What verify --all finds after it");
}

async function suspendKey(life: SoakLife): Promise<void> {
  const caller = life.draws.pick(life.callers.standing("large"));
  await follow(life, [caller], "key_suspended", ["keys", "suspend", caller.keyId]);
  await follow(life, [caller], "ok", ["keys", "resume", caller.keyId]);
}

async function suspendAccount(life: SoakLife): Promise<void> {
  const account: Account = life.draws.pick(["small", "large"]);
  const callers = life.callers.admittedOf(account);
  await follow(life, callers, "key_suspended", ["accounts", "set", account, "--suspend"]);
  await follow(life, callers, "ok", ["accounts", "set", account, "--resume"]);
}

/** The old key goes on beside the new one, until the overlap ends between two sessions. */
async function rotateKey(life: SoakLife): Promise<void> {
  const account: Account = life.draws.pick(["small", "large"]);
  const old = life.draws.pick(life.callers.standing(account));
  const endsMs = life.time.nowMs() + OVERLAP_HOURS * HOUR_MS;
  const fresh = await life.callers.rotate(old, `${OVERLAP_HOURS}h`, endsMs);
  await followed(life, [old, fresh], "ok");
}

async function revokeKey(life: SoakLife): Promise<void> {
  const account: Account = life.draws.pick(["small", "large"]);
  const caller = life.draws.pick(life.callers.standing(account));
  await follow(life, [caller], "invalid_key", ["keys", "revoke", caller.keyId]);
  await followed(life, [await life.callers.createKey(account)], "ok");
}

/**
 * Runs a command that changes what callers are told. Until it has ended and all proxies have
 * followed, either is right; from then on only the new verdict is.
 */
async function follow(
  life: SoakLife,
  callers: readonly KeyedCaller[],
  verdict: Verdict,
  command: readonly string[],
): Promise<void> {
  for (const caller of callers) caller.verdicts = new Set([...caller.verdicts, verdict]);
  requireCode(await life.callers.run(command), command.join(" "), 0);
  await followed(life, callers, verdict);
}

/** All proxies judge these callers so, within the time that is promised. */
async function followed(
  life: SoakLife,
  callers: readonly KeyedCaller[],
  verdict: Verdict,
): Promise<void> {
  const status = { ok: 200, invalid_key: 401, key_suspended: 403, trial_lapsed: 403 }[verdict];
  const what = `all proxies follow: ${callers.map(({ keyId }) => keyId).join()} ${verdict}`;
  await within(FOLLOWS_MS, what, async () => {
    for (const proxy of life.proxies) {
      for (const caller of callers) {
        const received = await life.load.ask(proxy, caller, PRICES);
        // An account may have used up its month; that, too, is for those who are let in.
        const found = received?.status === 429 ? 200 : received?.status;
        if (found !== status) return false;
      }
    }
    return true;
  });
  for (const caller of callers) caller.verdicts = new Set([verdict]);
}

async function checkedHead(life: SoakLife): Promise<void> {
  const head = await checkLog(life);
  await checkProxies(life, head);
  await checkMarket(life, head);
}

function stateOf(life: SoakLife, snapshot: string) {
  const state = life.states.get(snapshot);
  if (state === undefined) throw new Error(`Nobody published ${snapshot}`);
  return state;
}
