/** The status page, read from the DOM without script: it shows the values of /status.json. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { expectInSight } from "./visit.ts";
import {
  ATTRIBUTION,
  eventually,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  type TestProxy,
} from "../http/fixture.ts";

const MINUTE_MS = 60_000;

let proxy: TestProxy;
afterEach(() => proxy.close());

/** A session as /status.json has it. */
interface Session {
  readonly session_utc: string;
  readonly published_at: string | null;
  readonly minutes_late: number | null;
  readonly missed: boolean;
  readonly revised: boolean;
  readonly rolled_back: boolean;
  readonly snapshot: string | null;
}

test("nothing is published", async () => {
  proxy = await startTestProxy({ store: new MemoryStore() });
  const { status, text } = await proxy.get("/status");
  expect(status).toBe(200);
  expect(text).toContain("No prices yet</h1>");
  expect(text).toContain("No prices are published yet.");
  expect(text).not.toContain("<table");
  await publishSession(proxy.store, proxy.clock, SESSION, { first: true });
  await eventually(async () => (await proxy.get("/status")).text.includes("2026-11-21T00Z/r1"));
});

test("it changes with the log and the clock, and with nothing else", async () => {
  proxy = await startTestProxy();
  const { headers, text } = await proxy.get("/status", { key: proxy.pro });
  expect(headers["cache-control"]).toBe("public, max-age=60");
  expect(text).toContain(ATTRIBUTION);
  const asked = { headers: { "if-none-match": headers.etag as string } };
  proxy.clock.ms = sessionStartMs(SESSION) + sessionsMs(1) - 1;
  expect((await proxy.get("/status", asked)).status).toBe(304);
  proxy.clock.ms += 1;
  const due = await proxy.get("/status", asked);
  expect([due.status, /<td><span[^>]*>due<\/span><\/td>/.test(due.text)]).toEqual([200, true]);
});

describe("in a browser", () => {
  let browser: Browser;
  let page: Page | undefined;
  beforeAll(async () => {
    if (!hasBrowser) return;
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  /** The status as the page shows it, compared with /status.json; the words of each session. */
  async function words(): Promise<Record<string, string>> {
    const status = (await proxy.get("/status.json")).json;
    // Without what an earlier page left in the cache.
    await page?.close();
    page = await browser.newPage({ javaScriptEnabled: false });
    await page.goto(`${proxy.url}/status`);
    const rows = await page.$$eval("table.sessions tbody tr", (all) =>
      all.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
    expect(rows.map(([session, , ...others]) => [session, ...others])).toEqual(
      status.sessions.map((row: Session) => [
        written(row.session_utc),
        written(row.published_at),
        duration(row.minutes_late),
        row.snapshot ?? "n/a",
      ]),
    );
    for (const [at, row] of (status.sessions as Session[]).entries()) {
      const state = rows[at]?.[1] ?? "";
      const isAfterHead = row.session_utc > status.head.session_utc;
      expect(state.includes("missed")).toBe(row.missed && !isAfterHead);
      expect(state.includes("overdue")).toBe(row.missed && isAfterHead);
      expect(state.includes("revised")).toBe(row.revised);
      expect(state.includes("rolled back")).toBe(row.rolled_back);
      expect(state.includes("late")).toBe((row.minutes_late ?? 0) > 60);
      expect(state).not.toBe("");
    }
    const facts = await page.locator(".served dd").allTextContents();
    const head = (status.sessions as Session[]).find(
      (row) => row.session_utc === status.head.session_utc,
    );
    expect(facts).toEqual([
      written(status.head.session_utc),
      written(status.head.published_at),
      duration(head?.minutes_late ?? null),
      written(status.next_session_utc),
      status.overdue === 0 ? "none" : `${status.overdue} session${status.overdue === 1 ? "" : "s"}`,
      `${rows.filter(([, state]) => state?.includes("on time")).length} of ${rows.length}`,
    ]);
    expect(await page.locator(".late").count()).toBe(status.overdue === 0 ? 0 : 1);
    const good = (head?.minutes_late ?? 0) > 60 ? "Up to date" : "On time";
    const late = status.overdue === 1 ? "One session late" : `${status.overdue} sessions late`;
    const heading = await page.locator("h1").innerText();
    expect(heading.split("\n")).toEqual(["Status", status.overdue === 0 ? good : late]);
    const sentence = await page.locator(".verdict p").innerText();
    expect(sentence).toContain(`The session of ${written(status.head.session_utc)} is served;`);
    expect(sentence).toContain(written(status.next_session_utc));
    // On a phone nothing of a row is cut off, nor does the table scroll.
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await expectInSight(page, ".sessions :is(th, td, code, .tag)", width);
    }
    await expectStrip(
      page,
      rows.map(([, state = ""]) => state),
    );
    return Object.fromEntries(
      rows.map(([session = "", state = ""]) => [session?.slice(8, 13), state]),
    );
  }

  /** The strip has a mark for each session, and says in words how many there are of each state. */
  async function expectStrip(page: Page, states: readonly (string | null)[]): Promise<void> {
    expect(await page.locator(".strip .mark").count()).toBe(states.length);
    // Each column has its date at its head.
    const dates = await page.$$eval(".day", (days) => days.map((day) => day.textContent));
    const sessions = await page
      .locator(".sessions tbody time")
      .evaluateAll((times) => times.map((time) => time.textContent.slice(8, 10)));
    expect(dates.map((date) => Number(/\d+/.exec(date)?.[0]))).toEqual(
      [...new Set(sessions.map(Number))].toSorted((a, b) => a - b),
    );
    expect(dates[0]).toMatch(/^Nov/);
    const said = (await page.locator(".strip").getAttribute("aria-label")) ?? "";
    expect(said).not.toBe("");
    for (const part of said.split(", ")) {
      const [, count, word = ""] = /^(\d+) (.+)$/.exec(part) ?? [];
      const having = states.filter((state) => ` ${state} `.includes(` ${word} `));
      expect([word, having.length]).toEqual([word, Number(count)]);
    }
  }

  inChromium("late, missed, overdue, revised and rolled back, as they come about", async () => {
    proxy = await startTestProxy();
    const { store, clock } = proxy;
    const served = async (snapshot: string): Promise<void> =>
      eventually(async () => (await proxy.get("/status.json")).json.head.snapshot === snapshot);
    expect(await words()).toEqual({ "21 00": "on time" });
    clock.ms += 10 * MINUTE_MS;
    await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated" });
    await served("2026-11-21T00Z/r2");
    // The session of 12:00 does not come: first it is due, then overdue.
    clock.ms = sessionStartMs(SESSION + 1) + 60 * MINUTE_MS - 1;
    expect(await words()).toEqual({ "21 12": "due", "21 00": "revised on time" });
    clock.ms += 1;
    expect(await words()).toEqual({ "21 12": "overdue", "21 00": "revised on time" });
    // The next one comes, late: the one before it is missed.
    clock.ms = sessionStartMs(SESSION + 2) + 90.1 * MINUTE_MS;
    await publishSession(store, clock, SESSION + 2, { usd: 13 });
    await served("2026-11-22T00Z/r1");
    expect(await words()).toEqual({
      "22 00": "late",
      "21 12": "missed",
      "21 00": "revised on time",
    });
    await rollBack(store, "2026-11-21T00Z", "Wrong feed", clock);
    await served("2026-11-21T00Z/r2");
    expect(await words()).toEqual({
      "22 00": "rolled back late",
      "21 12": "overdue",
      "21 00": "revised on time",
    });
  });
});

const written = (instant: string | null): string =>
  instant === null ? "n/a" : `${instant.slice(0, 10)} ${instant.slice(11, 16)} UTC`;

/** `1 h 30 min`, to the minute. */
function duration(minutes: number | null): string {
  if (minutes === null) return "n/a";
  const whole = Math.round(minutes);
  return whole < 60 ? `${whole} min` : `${Math.floor(whole / 60)} h ${whole % 60} min`;
}
