/**
 * Texts of catalog, feeds and operator are never a template: two services whose texts differ in nothing but words that
 * look like slots, replacement patterns and marks send the same pages, each with its own texts.
 */
import { expect, test } from "vitest";
import { PAGES } from "../../src/public/uncounted-routes.ts";
import { parsePlanTerms } from "../../src/pages/plan-terms.ts";
import { escaped } from "../../src/site/text.js";
import { lines, mustPublish } from "../cli/small-market.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { eventually, snapshotOf, startTestProxy } from "./fixture.ts";

/** No quotes and backslashes, so that it stands in JSON as it is. */
const TEXT =
  "{{nope}} {{title}} {{main}} {{origin}} {{root}} {{contract-1}} {{max-move}} $& $1 $$ $` $<a> <!--attribution--><!--address--><b>&amp;</b> %s";
const WORD = "WORD";
const BEYOND_PAGES = [
  "/feed.atom",
  "/openapi.json",
  "/status.json",
  "/api/public/v1/contracts",
  "/api/public/v1/publications",
];

/** All that a service with this text in each text shows, by address. */
async function shown(text: string): Promise<Map<string, string>> {
  const store = new MemoryStore();
  const columns = "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,free";
  const row = (id: string, board: string, free: boolean): string =>
    `${id},T ${text},N ${id} ${text},${board},S ${id} ${text},U ${text},40,O ${text},https://s.example/${id},${free}`;
  const catalog = lines(
    columns,
    row("a", "memory", true),
    row("b", "memory", true),
    row("c", "semiconductor", true),
    row("d", "memory", false),
  );
  const ids = ["a", "b", "c", "d"];
  const days = ["2025-11-18", "2026-11-17", "2026-11-18"];
  const closes = ids.flatMap((id) => days.map((day) => `${id},${day},10`));
  const quotes = (usd: number): string =>
    lines("id,spot_usd,break,rationale", ...ids.map((id) => `${id},${usd},B ${text},J ${text}`));
  const attribution = `Credit ${text}`;
  await mustPublish(store, {
    session: "2026-11-20T00Z",
    catalog,
    closes: lines("id,date,close_usd", ...closes),
    quotes: quotes(11),
    attribution,
  });
  await mustPublish(store, { session: "2026-11-20T12Z", quotes: quotes(12) });
  const corrected = lines("id,date,close_usd", ...ids.map((id) => `${id},2026-11-18,10.5`));
  await mustPublish(store, {
    quotes: quotes(12),
    closes: corrected,
    revise: `Reason ${text}`,
    by: "somebody",
    why: `Why ${text}`,
  });
  const terms = { support: `Support ${text}` };
  const plans = parsePlanTerms(
    Buffer.from(JSON.stringify({ starter: terms, pro: terms })),
    "plans",
  );
  const publicUrl = "https://prices.example";
  const proxy = await startTestProxy({ store, plans, publicUrl });
  try {
    await eventually(async () => (await snapshotOf(proxy)) !== undefined);
    const paths = Object.values(PAGES).flatMap(({ path }) =>
      path.endsWith("{id}") ? ids.map((id) => path.replace("{id}", () => id)) : path,
    );
    const found = new Map<string, string>();
    for (const path of [...paths, ...BEYOND_PAGES, "/nothing-here"]) {
      const headers = { accept: path.includes("api") ? "*/*" : "text/html" };
      const { status, text: body } = await proxy.get(path, { headers });
      expect([path, status]).toEqual([path, path === "/nothing-here" ? 404 : 200]);
      found.set(path, body);
    }
    for await (const { key } of store.list("sessions/")) {
      if (key.endsWith("report.html")) found.set(key, String(await plainBytes(store, key)));
    }
    const { json } = await proxy.get("/api/public/v1/contracts");
    for (const { id } of json.segments) found.set(id, "");
    return found;
  } finally {
    await proxy.close();
  }
}

/** The body with the word instead of the text, in each way in which the text is written, and without digests. */
function withWord(body: string, segmentIds: readonly (readonly [string, string])[]): string {
  const written = [TEXT, escaped(TEXT), escaped(escaped(TEXT)), TEXT.replaceAll("<", "\\u003c")];
  let plain = body;
  for (const text of [...written, encodeURIComponent(TEXT)]) plain = plain.replaceAll(text, WORD);
  for (const [own, other] of segmentIds) plain = plain.replaceAll(own, other);
  return plain.replaceAll(/[0-9a-f]{64}|urn:uuid:[-0-9a-f]+|"request_id":"[^"]*"/g, "");
}

test("every page shows them as they are, and else is the same", async () => {
  const [own, other] = [await shown(TEXT), await shown(WORD)];
  expect(own.size).toBe(other.size);
  const segmentOf = (ids: Iterable<string>): string[] =>
    [...ids].filter((id) => id.startsWith("s-"));
  const others = segmentOf(other.keys());
  const segmentIds = segmentOf(own.keys()).map((id, at) => [id, others[at] as string] as const);
  for (const [path, body] of own) {
    if (path.startsWith("s-")) continue;
    expect(withWord(body, segmentIds), path).toBe(withWord(other.get(path) as string, segmentIds));
  }
  for (const path of ["/", "/basket", "/indices", "/contracts/a", "/plans", "/feed.atom"]) {
    expect([path, own.get(path)?.includes(escaped("{{origin}} {{root}}"))]).toEqual([path, true]);
  }
});
