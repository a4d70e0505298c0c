/** Ways for a session to be published that do not go smoothly. Each ends with it published. */
import { sessionUtc } from "../../src/market/session.ts";
import { quotesCsv } from "./soak-market.ts";
import { MINUTE_MS, type SoakLife } from "./soak-life.ts";
import { requireCode, type Ran } from "./soak-program.ts";
import { same } from "./soak-answers.ts";

/** One kind of fault: throws it and puts right what an operator would; then all must hold. */
export interface SoakFault {
  readonly name: string;
  run(life: SoakLife): Promise<void>;
}

const SESSION_MS = 12 * 60 * MINUTE_MS;
const PUBLISHERS = 3;

/** As it should be. */
export async function publishPlainly(life: SoakLife): Promise<void> {
  const ran = await life.publish(life.drawFeed());
  requireCode(ran, "publish", 0);
  same(outcomeOf(ran), "published", "The outcome");
  life.publishMs = ran.ms;
  life.adopt(ran, () => life.market.accept(life.quotes));
}

export const PUBLISHING: readonly SoakFault[] = [
  { name: "publish killed -9, run again", run: publishKilled },
  { name: "several publishers at once", run: publishAtOnce },
  { name: "wrong feed refused", run: publishWrong },
  { name: "session published late", run: publishLate },
];

async function publishKilled(life: SoakLife): Promise<void> {
  const feed = life.drawFeed();
  const killAfterMs = life.publishMs * (0.3 + 0.8 * life.draws.next());
  const killed = await life.publish(feed, [], killAfterMs);
  // It may have been faster than the kill.
  requireCode(killed, "The killed publish", null, 0);
  const again = await life.publish(feed);
  requireCode(again, "publish, run again,", 0);
  life.adopt(again, () => life.market.accept(life.quotes));
}

/** Either all with the same feed, and one publishes it; or each with another, and one wins. */
async function publishAtOnce(life: SoakLife): Promise<void> {
  const isSame = life.draws.next() < 0.5;
  const feeds = Array.from({ length: PUBLISHERS }, (_, at) => {
    const levels = life.market.drawQuotes(sessionUtc(life.session));
    return { levels, path: life.feedFile(`quotes-${at}.csv`, quotesCsv(levels)) };
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

/** A feed that must not pass is refused, and leaves no trace; then comes the right one. */
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
    const ran = await life.publish(life.feedFile(`wrong-${at}.csv`, quotesCsv(levels)));
    requireCode(ran, `A wrong feed (${at})`, code);
  }
  same(await keysOf(life), before, "What the store holds after the refusals");
  const ran = await life.publish(path);
  requireCode(ran, "publish of the right feed", 0);
  life.adopt(ran, () => life.market.accept(life.quotes));
}

/** Payloads and /readyz say that a session is missing, until it comes. */
async function publishLate(life: SoakLife): Promise<void> {
  await life.passTo(life.session, SESSION_MS / 6);
  for (const proxy of life.proxies) {
    const { httpStatus, overdue } = await proxy.readiness();
    same(`${httpStatus} ${overdue}`, "200 1", `${proxy.name}: overdue`);
  }
  // Every answer to the load is judged by the delay that it names.
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
