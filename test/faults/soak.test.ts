/** A soak in its short form; and it finds losses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseSession, sessionUtc, type Session } from "../../src/market/session.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { testService } from "../services/services.ts";
import { Tally } from "../../tools/faults/fault.ts";
import { expectNothingLost } from "./short.ts";
import { checkCounts, checkLife, checkLog, checkMarket } from "../../tools/faults/soak-checks.ts";
import { SoakLife } from "../../tools/faults/soak-life.ts";
import type { Caller } from "../../tools/faults/soak-load.ts";
import type { SoakProxy } from "../../tools/faults/soak-proxy.ts";
import { ROUTES } from "../../tools/faults/soak-routes.ts";
import { begin, PUBLISHED_MS, soakFaults } from "../../tools/faults/soak.ts";

// A soak starts and kills a Redis of its own; this only checks that Redis is installed.
const redis = testService("redis", true);
redis?.stop();

describe.skipIf(redis === null)("a soak", () => {
  test("nothing is lost over the end of a month", () => expectNothingLost(soakFaults));
});

describe.skipIf(redis === null)("a soak counts as lost:", () => {
  let folder: string;
  let life: SoakLife;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "chipboard-soak-"));
    const session = parseSession("2026-11-29T00Z") as Session;
    life = await SoakLife.begin(folder, 7, session);
    await life.passTo(session, PUBLISHED_MS);
    await begin(life);
    await checkLife(life);
  });
  afterAll(async () => {
    await life.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const losses: [string, RegExp, (life: SoakLife) => Promise<void>][] = [
    [
      "a counted call that the load did not send",
      /the calls of large are counted: \d+, expected/,
      charged,
    ],
    [
      "an answer that the tier must not get",
      /code is tier_required, expected null|code is null, expected tier_required/,
      allowed,
    ],
    ["a level that is not published", /The pro board has .* expected .*#123\.4567/, levelled],
    ["a missing publication", /Number of publications is 1, expected 2/, published],
    ["an entry without its signature", /0000000001\.json is unsigned: expected/, unsigned],
    ["an answer with wrong bytes", /SHA-256 of pro\/index\.json is/, rewritten],
  ];
  test.for(losses)("%s", async ([what, message, lose]) => {
    const told: string[] = [];
    const tally = new Tally(what, (text) => told.push(text));
    await tally.inject("on purpose", () => lose(life));
    expect({ told, ...tally.row }).toMatchObject({ injected: 1, survived: 0, lost: 1 });
    expect(told.join("\n")).toMatch(message);
    // Nothing else is wrong.
    await checkLife(life);
  });
});

/** A call outside the load: it is counted, but the load has no answer for it. */
async function charged(life: SoakLife): Promise<void> {
  const caller = pro(life);
  const headers = { authorization: `Bearer ${caller.key}` };
  await fetch(`${life.proxies[0]?.url}${ROUTES.board.path}`, { headers });
  await checkCounts(life).finally(() => {
    caller.answered += 1;
    life.load.resume();
  });
}

/** The load expects another tier than the caller has. */
async function allowed(life: SoakLife): Promise<void> {
  const caller = { ...pro(life), tier: "starter" } as const;
  await life.load.ask(life.proxies[0] as SoakProxy, caller, ROUTES.xlsx).finally(() => {
    pro(life).answered += 1;
  });
}

/** The expected market has another level than was published. */
async function levelled(life: SoakLife): Promise<void> {
  const head = await checkLog(life);
  const name = snapshotText(head);
  const { state } = life.market;
  const [first] = life.quotes;
  if (first === undefined) throw new Error("The feed has no levels");
  life.market.accept([{ ...first, session_utc: sessionUtc(head.session), spot_usd: "123.4567" }]);
  life.states.set(name, life.market.state);
  await checkMarket(life, head).finally(() => {
    life.market.restore(state);
    life.states.set(name, state);
  });
}

/** The log is one entry shorter than expected. */
async function published(life: SoakLife): Promise<void> {
  life.publications += 1;
  await checkLog(life).finally(() => {
    life.publications -= 1;
  });
}

/** The newest entry loses its signature. */
async function unsigned(life: SoakLife): Promise<void> {
  const key = publicationKey(1);
  const signed = (await life.store.get(key)) as Buffer;
  const text = String(signed).replace(/,"signature":"[^"]*"/, "");
  await replace(life.store, key, Buffer.from(text));
  await checkLog(life).finally(() => replace(life.store, key, signed));
}

/** The load expects another file than the board. */
async function rewritten(life: SoakLife): Promise<void> {
  const route = { ...ROUTES.board, file: () => "pro/index.json" };
  await life.load.ask(life.proxies[0] as SoakProxy, pro(life), route);
}

const pro = (life: SoakLife): Caller => {
  const caller = life.callers.find(({ tier }) => tier === "pro");
  if (caller === undefined) throw new Error("No caller has tier pro");
  return caller;
};
