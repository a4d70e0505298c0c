/** The events of a soak: ways to publish a session, outages, and work of operators. */
import { verifySnapshots } from "../../src/desk/verify.ts";
import { sessionUtc } from "../../src/market/session.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { parseManifest } from "../../src/snapshot/manifest.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import {
  codedPath,
  FILES,
  publicationKey,
  snapshotFileKey,
  snapshotText,
} from "../../src/store/paths.ts";
import { append } from "../../test/store/log-entries.ts";
import { same } from "./soak-answers.ts";
import { checkLog, checkMarket, checkProxies } from "./soak-checks.ts";
import type { Ran } from "../../test/program/program.ts";
import { requireCode, type SoakLife } from "./soak-life.ts";
import { changesCsv, quotesCsv, type Change } from "./soak-market.ts";
import type { SoakProxy } from "./soak-proxy.ts";
import { ROUTES } from "./soak-routes.ts";
import { within } from "./soak-time.ts";

/** One kind of event. `run` also repairs what an operator would repair; then all checks must pass. */
export interface SoakFault {
  readonly name: string;
  run(life: SoakLife): Promise<void>;
}

const SESSION_MS = 12 * 3_600_000;
const PUBLISHERS = 3;
const PATIENCE_MS = 15_000;
const KEPT_DAYS = "2";

/** After each of these the session is published. */
export const PUBLISHING: readonly SoakFault[] = [
  { name: "publish", run: publishPlainly },
  { name: "publish killed -9, run again", run: publishKilled },
  { name: "several publishers at once", run: publishAtOnce },
  { name: "wrong feed refused", run: publishWrong },
  { name: "session published late", run: publishLate },
];

export const FAULTS: readonly SoakFault[] = [
  { name: "proxy killed -9, restarted", run: (life) => restart(life, "SIGKILL") },
  { name: "proxy ended by SIGTERM, restarted", run: (life) => restart(life, "SIGTERM") },
  { name: "Redis stopped for a moment", run: (life) => withoutRedis(life, "stopped") },
  { name: "Redis killed -9, restarted", run: (life) => withoutRedis(life, "killed") },
  { name: "head damaged, rolled back", run: damagedAndRolledBack },
  { name: "head damaged before proxies read it", run: damagedUnseen },
  { name: "rolled back, published again", run: (life) => goBack(life, () => checkedHead(life)) },
  { name: "revision", run: publishRevision },
  { name: "pruned under load", run: prune },
  { name: "rollback appended without the key", run: forged },
];

async function publishPlainly(life: SoakLife): Promise<void> {
  const feed = life.drawFeed();
  const startedAt = performance.now();
  const ran = await life.publish(feed);
  life.publishMs = performance.now() - startedAt;
  requireCode(ran, "publish", 0);
  same(outcomeOf(ran), "published", "The outcome");
  life.adopt(ran, () => life.market.accept(life.quotes));
}

async function publishKilled(life: SoakLife): Promise<void> {
  const feed = life.drawFeed();
  const killAfterMs = life.publishMs * (0.3 + 0.8 * life.draws.next());
  const killed = await life.publish(feed, [], { killAfterMs });
  // It may have ended before the kill.
  requireCode(killed, "The killed publish", null, 0);
  const again = await life.publish(feed);
  requireCode(again, "publish, run again,", 0);
  life.adopt(again, () => life.market.accept(life.quotes));
}

/** Either all publish the same feed, or each another one. One of them wins. */
async function publishAtOnce(life: SoakLife): Promise<void> {
  const isSame = life.draws.next() < 0.5;
  const feeds = Array.from({ length: PUBLISHERS }, (_, at) => {
    const levels = life.market.drawQuotes(sessionUtc(life.session));
    return { levels, path: life.file(`quotes-${at}.csv`, quotesCsv(levels)) };
  });
  const runs = await Promise.all(
    feeds.map(({ path }) => life.publish(isSame ? (feeds[0]?.path as string) : path)),
  );
  for (const ran of runs) requireCode(ran, "publish at once", 0, isSame ? 0 : 4);
  const winners = runs.flatMap((ran, at) => (outcomeOf(ran) === "published" ? [at] : []));
  same(winners.length, 1, "The number of publishers who won");
  const winner = winners[0] as number;
  life.quotes = (isSame ? feeds[0] : feeds[winner])?.levels ?? [];
  life.adopt(runs[winner] as Ran, () => life.market.accept(life.quotes));
}

/** Wrong feeds are refused and write nothing; then the correct feed is published. */
async function publishWrong(life: SoakLife): Promise<void> {
  const path = life.drawFeed();
  const before = await keysOf(life);
  const [first, ...rest] = life.quotes.filter(({ break: reason }) => reason === null);
  if (first === undefined) throw new Error("A feed without levels");
  const earlier = sessionUtc(life.session - 1);
  const wrongs = [
    { code: 3, levels: [{ ...first, spot_usd: usd(Number(first.spot_usd) * 3) }, ...rest] },
    { code: 3, levels: rest.slice(0, 10) },
    { code: 2, levels: [{ ...first, spot_usd: "-3" }, ...rest] },
    { code: 4, levels: [{ ...first, session_utc: earlier, spot_usd: "0.123456" }, first, ...rest] },
  ];
  for (const [at, { code, levels }] of wrongs.entries()) {
    const ran = await life.publish(life.file(`wrong-${at}.csv`, quotesCsv(levels)));
    requireCode(ran, `A wrong feed (${at})`, code);
  }
  same(await keysOf(life), before, "What the store holds after the refusals");
  const ran = await life.publish(path);
  requireCode(ran, "publish of the right feed", 0);
  life.adopt(ran, () => life.market.accept(life.quotes));
}

/** Payloads and /readyz say that the session is overdue until it is published. */
async function publishLate(life: SoakLife): Promise<void> {
  await life.passTo(life.session, SESSION_MS / 6);
  for (const proxy of life.proxies) {
    const { httpStatus, overdue } = await proxy.readiness();
    same(`${httpStatus} ${overdue}`, "200 1", `${proxy.name}: overdue`);
  }
  // The load checks the delay in every answer.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await publishPlainly(life);
}

const outcomeOf = ({ code, stdout }: Ran): string =>
  code === 0 ? (JSON.parse(stdout) as { outcome: string }).outcome : "refused";

const usd = (value: number): string => String(Number(value.toFixed(4)));

async function keysOf(life: SoakLife): Promise<string> {
  const keys: string[] = [];
  for await (const { key } of life.store.list("")) keys.push(key);
  return keys.join("\n");
}

/** A random proxy, but not the last one: its memory is compared from beginning to end. */
const mortal = (life: SoakLife): SoakProxy => life.draws.pick(life.proxies.slice(0, -1));

async function restart(life: SoakLife, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  await restarted(life, mortal(life), signal);
}

async function restarted(
  life: SoakLife,
  proxy: SoakProxy,
  signal: "SIGKILL" | "SIGTERM",
): Promise<void> {
  proxy.isDisturbed = true;
  const code = await proxy.end(signal);
  same(code, signal === "SIGKILL" ? signal : 0, `${proxy.name}: how it ended`);
  await proxy.start(life.env());
  proxy.isDisturbed = false;
}

async function withoutRedis(life: SoakLife, how: "stopped" | "killed"): Promise<void> {
  const { redis, proxies, load, callers } = life;
  const pid = redis.pid as number;
  if (how === "killed") await redis.stop();
  else process.kill(pid, "SIGSTOP");
  try {
    await allSay(proxies, "state", "unavailable");
    // The outage does not matter, because each proxy knows each key.
    for (const proxy of proxies) {
      for (const caller of callers) await load.ask(proxy, caller, ROUTES.board);
    }
  } finally {
    if (how === "killed") await redis.resume();
    else process.kill(pid, "SIGCONT");
  }
  await allSay(proxies, "state", "ok");
}

/** The damaged head is rolled back, and published again from the same feed. */
async function damagedAndRolledBack(life: SoakLife): Promise<void> {
  const damage = await damageHead(life);
  await startOnDamage(life);
  await goBack(life, async () => {
    const head = await checkLog(life);
    await checkProxies(life, head);
    // A damaged snapshot stays until it is pruned; here it is repaired, for `verify --all`.
    await damage.repair();
  });
}

/**
 * All proxies are stopped while a revision is published and damaged. Then they serve the old head,
 * and /readyz says that the store is damaged.
 */
async function damagedUnseen(life: SoakLife): Promise<void> {
  const { load, proxies } = life;
  await load.pause();
  const served = await Promise.all(proxies.map((proxy) => proxy.readiness()));
  for (const proxy of proxies) proxy.signal("SIGSTOP");
  const damage = await (async () => {
    try {
      await publishRevision(life);
      return await damageHead(life);
    } finally {
      for (const proxy of proxies) proxy.signal("SIGCONT");
    }
  })();
  await allSay(proxies, "store", "damaged");
  for (const [at, proxy] of proxies.entries()) {
    const { snapshot } = await proxy.readiness();
    same(snapshot, served[at]?.snapshot, `${proxy.name}: the snapshot it serves`);
  }
  load.resume();
  await damage.repair();
  await allSay(proxies, "store", "ok");
  await allSay(proxies, "state", "ok");
}

/** Changes one bit of a file of the head. Throws unless `verify` finds it. */
async function damageHead(life: SoakLife): Promise<{ repair(): Promise<void> }> {
  const { store, draws } = life;
  const head = await checkLog(life);
  const manifestKey = snapshotFileKey(head, FILES.manifest);
  const whole = async (key: string): Promise<Buffer> => {
    const bytes = await store.get(key);
    if (bytes === null) throw new Error(`${key} is missing`);
    return bytes;
  };
  const { files } = parseManifest(await whole(manifestKey), manifestKey);
  const served = files.filter(({ tier }) => tier !== null && tier !== undefined);
  const { path, stored } = draws.pick(served);
  const key = snapshotFileKey(head, stored === "gzip" ? codedPath(path) : path);
  const bytes = await whole(key);
  const damaged = Buffer.from(bytes);
  const at = draws.below(damaged.length);
  damaged[at] = (damaged[at] as number) ^ (1 << draws.below(8));
  const replace = async (content: Buffer): Promise<void> => {
    await store.delete(key);
    same(await store.create(key, content), "created", key);
  };
  await replace(damaged);
  requireCode(await life.desk("verify"), `verify of damaged ${key}`, 6);
  return {
    repair: async () => {
      await replace(bytes);
      same(sha256Hex(await whole(key)), sha256Hex(bytes), key);
      requireCode(await life.desk("verify", snapshotText(head)), "verify after the repair", 0);
    },
  };
}

/** A proxy that starts now serves the previous publication and says so; the others are unchanged. */
async function startOnDamage(life: SoakLife): Promise<void> {
  const proxy = mortal(life);
  const [before] = life.log.slice(-2);
  await restarted(life, proxy, "SIGKILL");
  const { httpStatus, store, snapshot } = await proxy.readiness();
  const served = `200 damaged ${snapshotText(before as Publication)}`;
  same(`${httpStatus} ${store} ${snapshot}`, served, `${proxy.name} on a damaged head`);
  for (const other of life.proxies) {
    if (other !== proxy) same((await other.readiness()).httpStatus, 200, `${other.name}: /readyz`);
  }
}

/** Waits until /readyz of all proxies has this value. */
export async function allSay(
  proxies: readonly SoakProxy[],
  field: "state" | "store",
  wanted: string,
): Promise<void> {
  for (const proxy of proxies) {
    await within(PATIENCE_MS, `${proxy.name} says ${field} ${wanted}`, async () => {
      return (await proxy.readiness())[field] === wanted;
    });
  }
}

/**
 * Rolls back to the last snapshot of an earlier session, awaits `meanwhile`, and publishes the
 * session again, which needs a reason.
 */
async function goBack(life: SoakLife, meanwhile: () => Promise<unknown>): Promise<void> {
  const log = (await checkLog(life), life.log);
  const earlier = log.findLast(({ session }) => session < life.session);
  if (earlier === undefined) throw new Error("Nothing to roll back to");
  const target = snapshotText(earlier);
  requireCode(await life.desk("rollback", target, "--reason", "wrong feed"), "rollback", 0);
  life.publications += 1;
  life.market.restore(stateOf(life, target));
  await meanwhile();
  const path = life.file("again.csv", quotesCsv(life.quotes));
  requireCode(await life.publish(path), "publish of the withdrawn session", 4);
  const ran = await life.publish(path, ["--revise", "the feed was right"]);
  requireCode(ran, "publish with a reason", 0);
  life.adopt(ran, () => life.market.accept(life.quotes));
}

/** Adds, changes or withdraws some levels of the last days. */
async function publishRevision(life: SoakLife): Promise<void> {
  let changes: Change[] = [];
  while (changes.length === 0) changes = life.market.drawChanges(sessionUtc(life.session));
  const path = life.file("fix.csv", changesCsv(changes));
  requireCode(await life.publish(path), "publish of changes without a reason", 4);
  const reason = `correction ${life.publications}`;
  const ran = await life.publish(path, ["--revise", reason]);
  requireCode(ran, "publish --revise", 0);
  life.adopt(ran, (snapshot, number) => life.market.change(changes, reason, snapshot, number));
}

async function prune(life: SoakLife): Promise<void> {
  requireCode(await life.desk("prune", "--keep-days", KEPT_DAYS), "prune", 0);
  const { damages } = await verifySnapshots(life.store, null);
  same(damages.join("\n"), "", "The damage that verify --all finds");
}

/** Somebody without the key makes an older snapshot the head. Nobody serves it or builds on it. */
async function forged(life: SoakLife): Promise<void> {
  const { store, proxies } = life;
  const head = await checkLog(life);
  const [older = head] = life.log;
  const { entry } = await append(store, { ...older, action: "rollback", reason: null });
  try {
    await allSay(proxies, "store", "damaged");
    await restart(life, "SIGKILL");
    await allSay(proxies, "store", "damaged");
    for (const proxy of proxies) {
      same(
        (await proxy.readiness()).snapshot,
        snapshotText(head),
        `${proxy.name}: the served snapshot`,
      );
    }
    const again = life.file("again.csv", quotesCsv(life.quotes));
    requireCode(await life.publish(again), "publish after an unsigned entry", 6);
    const pruned = await life.desk("prune", "--keep-days", KEPT_DAYS);
    requireCode(pruned, "prune after an unsigned entry", 6);
  } finally {
    await store.delete(publicationKey(entry.number));
  }
  await allSay(proxies, "store", "ok");
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
