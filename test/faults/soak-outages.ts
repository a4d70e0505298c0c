/** What happens to the machines of a soak: proxies killed, Redis away, stored bytes changed. */
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { parseManifest } from "../../src/snapshot/manifest.ts";
import { FILES, snapshotFileKey, snapshotText } from "../../src/store/paths.ts";
import { same } from "./soak-answers.ts";
import { checkLog, checkProxies } from "./soak-checks.ts";
import { goBack, publishRevision } from "./soak-desk.ts";
import type { SoakLife } from "./soak-life.ts";
import { requireCode } from "./soak-program.ts";
import type { SoakProxy } from "./soak-proxy.ts";
import type { SoakFault } from "./soak-publishing.ts";
import { PRICES } from "./soak-routes.ts";
import { within } from "./soak-time.ts";

const PATIENCE_MS = 15_000;

export const OUTAGES: readonly SoakFault[] = [
  { name: "proxy killed -9, restarted", run: (life) => restart(life, "SIGKILL") },
  { name: "proxy ended by SIGTERM, restarted", run: (life) => restart(life, "SIGTERM") },
  { name: "Redis stopped for a moment", run: (life) => withoutRedis(life, "stopped") },
  { name: "Redis killed -9, restarted", run: (life) => withoutRedis(life, "killed") },
  { name: "head damaged, put back", run: damagedAndPutBack },
  { name: "head damaged, rolled back", run: damagedAndRolledBack },
  { name: "head damaged before proxies saw it", run: damagedUnseen },
];

/** One proxy of the four, but never the last: its memory is watched from beginning to end. */
const mortal = (life: SoakLife): SoakProxy => life.draws.pick(life.proxies.slice(0, -1));

async function restart(life: SoakLife, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const proxy = mortal(life);
  await disturbed(proxy, async () => {
    const code = await proxy.end(signal);
    same(code, signal === "SIGKILL" ? signal : 0, `${proxy.name}: how it ended`);
    await proxy.start(life.env());
  });
}

async function withoutRedis(life: SoakLife, how: "stopped" | "killed"): Promise<void> {
  const { redis, proxies, load } = life;
  const pid = redis.pid as number;
  load.isStateAway = true;
  if (how === "killed") await redis.stop();
  else process.kill(pid, "SIGSTOP");
  try {
    await allSay(proxies, "state", "unavailable");
    for (const proxy of proxies) await load.askWithoutState(proxy, PRICES);
  } finally {
    if (how === "killed") await redis.resume();
    else process.kill(pid, "SIGCONT");
  }
  await allSay(proxies, "state", "ok");
  load.isStateAway = false;
}

/** A proxy that starts meanwhile has nothing to serve and says so; the others go on. */
async function damagedAndPutBack(life: SoakLife): Promise<void> {
  const damage = await damageHead(life);
  await startOnDamage(life);
  await damage.repair();
}

/** The head is rolled back, and published again from the same feed. */
async function damagedAndRolledBack(life: SoakLife): Promise<void> {
  const damage = await damageHead(life);
  await startOnDamage(life);
  await goBack(life, async () => {
    const head = await checkLog(life);
    await checkProxies(life, head);
    // What is damaged stays so until it is pruned; here it is mended, for `verify --all`.
    await damage.repair();
  });
}

/** All proxies sleep while a revision is published and damaged: the old head stays, loudly. */
async function damagedUnseen(life: SoakLife): Promise<void> {
  const { load, proxies } = life;
  await load.pause();
  // Asleep, a proxy cannot hear Redis: it may take it for gone for a moment.
  load.isStateAway = true;
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
  load.isStateAway = false;
}

/** Changes one byte of a file of the head, and sees that `verify` finds it. */
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
  const key = snapshotFileKey(head, draws.pick(served).path);
  const bytes = await whole(key);
  const damaged = Buffer.from(bytes);
  const at = draws.below(damaged.length);
  damaged[at] = (damaged[at] as number) ^ (1 << draws.below(8));
  const replace = async (content: Buffer): Promise<void> => {
    await store.delete(key);
    same(await store.create(key, content, "application/octet-stream"), "created", key);
  };
  await replace(damaged);
  requireCode(await life.desk("verify"), `verify of damaged ${key}`, 6);
  return {
    repair: async () => {
      await replace(bytes);
      same(sha256Hex(await whole(key)), sha256Hex(bytes), key);
      requireCode(await life.desk("verify", snapshotText(head)), "verify of what was mended", 0);
    },
  };
}

async function startOnDamage(life: SoakLife): Promise<void> {
  const proxy = mortal(life);
  proxy.mayBeEmpty = true;
  await disturbed(proxy, async () => {
    await proxy.end("SIGKILL");
    await proxy.start(life.env());
  });
  const { httpStatus, text } = await proxy.readiness();
  same(httpStatus, 503, `${proxy.name} on a damaged head: status of /readyz`);
  if (!text.includes("damaged")) throw new Error(`/readyz does not say why: ${text}`);
  for (const other of life.proxies) {
    if (other !== proxy) same((await other.readiness()).httpStatus, 200, `${other.name}: /readyz`);
  }
}

async function disturbed(proxy: SoakProxy, work: () => Promise<void>): Promise<void> {
  proxy.isDisturbed = true;
  await work();
  proxy.isDisturbed = false;
}

/** Waits until /readyz of all of them says so. */
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
