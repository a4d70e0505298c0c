/** Checks after every publication and every fault of a soak. Each throws if it fails. */
import { verifySnapshots } from "../../src/desk/verify.ts";
import { sessionUtc } from "../../src/market/session.ts";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import { readPublications } from "../../test/store/log-entries.ts";
import { snapshotText } from "../../src/store/paths.ts";
import {
  isWithinDepth,
  naiveHistoryFrom,
  naiveIndex,
  naiveLimits,
  naiveTier,
} from "../../test/property/naive-market.ts";
import { exactJson } from "../../test/property/published.ts";
import { requireSigned } from "./crash-head.ts";
import { same } from "./soak-answers.ts";
import type { SoakLife } from "./soak-life.ts";
import type { Caller } from "./soak-load.ts";
import { basketRoute, contractRoute, ROUTES, USAGE, type Route } from "./soak-routes.ts";
import { within } from "./soak-time.ts";

const SETTLE_MS = 20_000;
const COUNTED_MS = 5_000;

/** Makes all checks. The load continues until the counts are compared. */
export async function checkLife(life: SoakLife): Promise<void> {
  const head = await checkLog(life);
  const { damages } = await verifySnapshots(life.store, "head");
  if (damages.length > 0) throw new Error(damages.join("\n"));
  await checkProxies(life, head);
  await checkMarket(life, head);
  await checkCounts(life);
  checkAnswers(life);
}

/**
 * The log has no gap, has the expected length, every entry is signed, and old entries are unchanged.
 * Returns the head.
 */
export async function checkLog(life: SoakLife): Promise<Publication> {
  const log = await readPublications(life.store);
  same(log.length, life.publications, "Number of publications");
  await requireSigned(life.store, life.verifyKeys);
  const kept = JSON.stringify(log.slice(0, life.log.length));
  same(kept, JSON.stringify(life.log), "The beginning of the log");
  life.log = log;
  return log.at(-1) as Publication;
}

/** All proxies serve the head within SETTLE_MS. */
export async function checkProxies(life: SoakLife, head: Publication): Promise<void> {
  const wanted = `${head.number} ${snapshotText(head)} ok`;
  await Promise.all(
    life.proxies.map(async (proxy) => {
      let said = "";
      await within(SETTLE_MS, `${proxy.name} serves ${wanted}`, async () => {
        const { publication, snapshot, store } = await proxy.readiness();
        said = `${publication} ${snapshot} ${store}`;
        return said === wanted;
      }).catch((error: Error) => {
        throw new Error(`${error.message}; it says ${said}`);
      });
      proxy.settled = head.number;
    }),
  );
}

/** The proxies serve what the naive calculation makes of the input rows. */
export async function checkMarket(life: SoakLife, head: Publication): Promise<void> {
  const state = life.states.get(snapshotText(head));
  if (state === undefined) throw new Error(`Nobody published ${snapshotText(head)}`);
  const { draws, market, callers } = life;
  const raw = market.raw(state);
  const headUtc = sessionUtc(head.session);
  for (const tier of ["free", "starter", "pro"] as const) {
    const expected = naiveTier(raw, headUtc, tier);
    const caller = callers.find((one) => one.tier === tier) as Caller;
    const board = await fetched(life, caller, ROUTES.board);
    sameJson(
      [board["session_utc"], board["memory"], board["semiconductor"]],
      [expected.session_utc, expected.memory, expected.semiconductor],
      `The ${tier} board`,
    );
    const record = draws.pick([...expected.memory, ...expected.semiconductor]);
    const isFree = market.contracts.some(({ id, free }) => free && id === record.id);
    const corrections = (state.corrections.get(record.id) ?? []).filter(
      ({ session_utc: at }) =>
        at <= expected.session_utc && isWithinDepth(at.slice(0, 10), expected.session_utc, tier),
    );
    sameJson(
      withoutEnvelope(await fetched(life, caller, contractRoute(record.id, isFree))),
      {
        ...record,
        references: expected.references.get(record.id),
        history_from: naiveHistoryFrom(expected.session_utc, tier),
        history: expected.history.get(record.id),
        breaks: expected.breaks.get(record.id),
        rationale: expected.rationale.get(record.id),
        ...naiveLimits(raw, record.id),
        corrections,
      },
      `${record.id} (${tier})`,
    );
    if (tier === "free") continue;
    const {
      name: _name,
      weighting: _weighting,
      ...index
    } = withoutEnvelope(await fetched(life, caller, ROUTES.index));
    sameJson(index, expected.index, `The ${tier} index`);
    if (tier !== "pro") continue;
    const members = expected.index.contributions.map(({ id }) => id as string);
    const picks = draws.shuffled(members).slice(0, 3);
    const weights = picks.map(() => String(1 + draws.below(90)));
    const basket = await fetched(life, caller, basketRoute(picks, weights));
    const naive = naiveIndex(raw, headUtc, picks, weights);
    sameJson(
      [basket["level"], basket["chg_24h_pct"], basket["chg_30d_pct"], basket["contributions"]],
      [naive.level, naive.chg_24h_pct, naive.chg_30d_pct, naive.contributions],
      `The basket of ${picks.join()}`,
    );
  }
}

/**
 * Every proxy counts for each caller the calls that were answered with data. If connections broke because a
 * proxy was killed, these calls may also be counted. The next check starts at this count.
 */
export async function checkCounts(life: SoakLife): Promise<void> {
  await life.load.pause();
  for (const caller of life.callers) {
    const used = new Set<number>();
    const isCounted = async (): Promise<boolean> => {
      used.clear();
      for (const proxy of life.proxies) {
        used.add(Number((await fetched(life, caller, USAGE, proxy))["used"]?.toString().slice(1)));
      }
      const [first = -1] = used;
      const { answered, uncertain } = caller;
      return used.size === 1 && answered <= first && first <= answered + uncertain;
    };
    await within(COUNTED_MS, `the calls of ${caller.name} are counted`, isCounted).catch(
      (error: Error) => {
        const { answered, uncertain } = caller;
        throw new Error(
          `${error.message}: ${[...used].join()}, expected ${answered} to ${answered + uncertain}`,
        );
      },
    );
    caller.answered = [...used][0] as number;
    caller.uncertain = 0;
  }
  life.load.resume();
}

/** Every answer since the last check was correct. */
export function checkAnswers(life: SoakLife): void {
  const faults = life.load.takeFaults();
  if (faults.length === 0) return;
  const shown = faults.slice(0, 5).join("\n");
  throw new Error(`${faults.length} wrong answers:\n${shown}`);
}

/** A JSON body, with `#` and the text for each number, from the proxy or a random one. */
async function fetched(
  life: SoakLife,
  caller: Caller,
  route: Route,
  proxy = life.draws.pick(life.proxies),
): Promise<Record<string, unknown>> {
  const received = await life.load.ask(proxy, caller, route);
  if (received?.status === 200) return exactJson(received.body.toString("utf8"));
  throw new Error(`${proxy.name}, ${route.path}: ${received?.body.toString("utf8") ?? "broken"}`);
}

function withoutEnvelope(body: Record<string, unknown>): Record<string, unknown> {
  const { session_utc: _a, delayed_sessions: _b, license: _c, attribution: _d, ...rest } = body;
  return rest;
}

/** Throws unless both are the same JSON text: values and order of fields. */
function sameJson(found: unknown, expected: unknown, what: string): void {
  const a = JSON.stringify(found, null, 1);
  const b = JSON.stringify(expected, null, 1);
  if (a === b) return;
  const lines = a.split("\n");
  const wanted = b.split("\n");
  const at = wanted.findIndex((line, index) => line !== lines[index]);
  const around = (all: string[]): string => all.slice(Math.max(0, at - 3), at + 3).join("");
  throw new Error(`${what} has ${around(lines)}, expected ${around(wanted)}`);
}
