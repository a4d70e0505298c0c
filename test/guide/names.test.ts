/**
 * The requests that the documents show name contracts of the served market, and run. The answers come from
 * the recorded market, and say so.
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { expect, test } from "vitest";
import examples from "../../src/docs/examples.json" with { type: "json" };
import { renderEntry } from "../../src/snapshot/log/entry-bytes.ts";
import { signedEntry } from "../../src/snapshot/log/sign.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, lines, mustPublish, type CatalogRow } from "../cli/small-market.ts";
import { startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { OPERATOR, signedBy } from "../http/signed-log.ts";
import { publishOf } from "../unit/publications.ts";
import { textOf, under } from "./guide-texts.ts";

const RECORDED = /\b(?:ddr5-16gb|tlc-1tb|n3-wafer)\b/;

const textAt = async (proxy: TestProxy, path: string): Promise<string> =>
  (await proxy.get(path)).text;

/** The data requests that guide, llms.txt, basket page, reference and OpenAPI document show with a 200. */
async function shown(proxy: TestProxy): Promise<string[]> {
  const [guide, summary, basket, reference, document] = await Promise.all(
    ["/guide.md", "/llms.txt", "/basket", "/docs", "/openapi.json"].map((path) =>
      textAt(proxy, path),
    ),
  );
  const inTexts = `${guide}\n${summary}`.matchAll(/^`GET (\/api\S+)` .*: 200/gm);
  const inReference = (reference ?? "").matchAll(/data-path="(\/api[^"]+)"/g);
  const inDocument = exampleNames(document ?? "").matchAll(/^GET (\/api\S+), /gm);
  const priced = /data-query="([^"]+)"/.exec(basket ?? "")?.[1]?.replaceAll("&amp;", "&");
  const requests = [...inTexts, ...inReference, ...inDocument].map(([, request = ""]) => request);
  return [...new Set([...requests, `/api/public/v1/index?${priced}`])];
}

interface Operation {
  readonly responses: {
    readonly 200: { readonly content: Readonly<Record<string, { readonly examples?: object }>> };
  };
}

/** The names of the examples of 200s in an OpenAPI document, one a line. */
function exampleNames(document: string): string {
  const { paths } = JSON.parse(document) as { readonly paths: Record<string, { get: Operation }> };
  return Object.values(paths)
    .flatMap(({ get }) => Object.values(get.responses[200].content))
    .flatMap(({ examples = {} }) => Object.keys(examples))
    .join("\n");
}

/** The shown requests that name a contract or an index, with the status of each. */
async function asked(proxy: TestProxy): Promise<[request: string, status: number][]> {
  const requests = (await shown(proxy)).filter((request) =>
    /\/(?:prices|indices)\/|ids=/.test(request),
  );
  return Promise.all(
    requests.map(async (request) => {
      const { status } = await proxy.get(request, { key: proxy.pro });
      return [request, status] as [string, number];
    }),
  );
}

async function marketOf(entries: readonly (string | CatalogRow)[]): Promise<TestProxy> {
  const store = new MemoryStore();
  const ids = entries.flatMap((entry) =>
    typeof entry === "string" ? entry : entry.delisted_on === undefined ? entry.id : [],
  );
  await mustPublish(store, {
    session: "2026-11-21T00Z",
    catalog: catalogOf(entries),
    closes: lines("id,date,close_usd", ...ids.map((id) => `${id},2025-11-20,10`)),
    quotes: lines("id,spot_usd", ...ids.map((id) => `${id},11`)),
    acceptMoves: true,
  });
  return startTestProxy({ store, clock: new TestClock() });
}

test("all requests run in a market of many contracts, and name none of another", async () => {
  const proxy = await marketOf([
    { id: "off", delisted_on: "2026-01-01" },
    "m-1",
    "m-2",
    { id: "s-1", board: "semiconductor", segment: "GPU", name: '"GPU ""A"", 80GB"' },
    { id: "s-2", board: "semiconductor", segment: "GPU" },
  ]);
  const answers = await asked(proxy);
  const refused = new Set([400, 404]);
  expect(answers.map(([request]) => request)).toEqual(
    expect.arrayContaining([
      "/api/public/v1/prices/m-1",
      "/api/public/v1/index?ids=m-1,s-1&weights=60,40",
      "/api/public/v1/index?ids=m-1,s-1&quantities=64,2",
      "/api/public/v1/index?ids=m-1,s-1,m-2&quantities=64,2,0.02",
    ]),
  );
  expect(answers.filter(([, status]) => refused.has(status))).toEqual([]);
  const answer = /^`GET \/[^`]+` .*\n\n```[^]*?^```$/gm;
  for (const path of ["/guide.md", "/llms.txt"]) {
    expect((await textAt(proxy, path)).replaceAll(answer, "").match(RECORDED), path).toBeNull();
  }
  const reference = (await textAt(proxy, "/docs")).replaceAll(
    /<div class="answer">[^]*?<\/div>/g,
    "",
  );
  expect(reference.match(RECORDED)).toBeNull();
  const basket = (await textAt(proxy, "/basket")).replace(
    /<section id="example"[^]*?<\/section>/,
    "",
  );
  expect(basket.match(RECORDED)).toBeNull();
  await proxy.close();
});

test("with one contract its own requests run, and the others stay as in the examples", async () => {
  const proxy = await marketOf(["only"]);
  const answers = await asked(proxy);
  expect(answers).toContainEqual(["/api/public/v1/prices/only", 200]);
  expect(answers.find(([request]) => request.includes("weights=60,40"))?.[0]).toBe(
    "/api/public/v1/index?ids=only,tlc-1tb&weights=60,40",
  );
  await proxy.close();
});

test("recorded answers stay as they are, and every document says of which market they are", async () => {
  const proxy = await marketOf(["m-1", "m-2"]);
  const documents = ["/guide.md", "/guide", "/llms.txt", "/docs", "/openapi.json"];
  for (const path of [...documents, "/methodology", "/methodology.md"]) {
    const text = (await textAt(proxy, path)).replaceAll(/\s+/g, " ");
    expect(text, path).toMatch(/[Rr]ecorded from (?:a|this) small example market/);
    expect(text.match(RECORDED), path).not.toBeNull();
  }
  const recorded = examples.find(
    ({ request }) => request === "GET /api/public/v1/prices/ddr5-16gb",
  );
  const { paths } = JSON.parse(await textAt(proxy, "/openapi.json"));
  const answers = paths["/api/public/v1/prices/{id}"].get.responses[200].content;
  expect(answers["application/json"].examples["GET /api/public/v1/prices/m-1, pro"]).toEqual({
    summary: "GET /api/public/v1/prices/m-1, pro",
    description: "Recorded from a small example market.",
    value: JSON.parse(recorded?.body ?? ""),
  });
  await proxy.close();
});

test("before anything is published the documents name the market of the examples; then the new one", async () => {
  const store = new MemoryStore();
  const proxy = await startTestProxy({ store, clock: new TestClock() });
  const first = await shown(proxy);
  expect(first).toContain("/api/public/v1/prices/ddr5-16gb");
  await mustPublish(store, {
    session: "2026-11-21T00Z",
    catalog: catalogOf(["m-1", "m-2"]),
    quotes: lines("id,spot_usd", "m-1,11", "m-2,12"),
  });
  await expect.poll(() => shown(proxy)).toContain("/api/public/v1/prices/m-1");
  await proxy.close();
});

test("the guide gives the form of the message that a signature is of", () => {
  const proof = under(textOf("documents/guide.md"), "Proof").replaceAll("\n", " ");
  const line =
    /over the line `([^`]+)`, with its line feed, and the 32 bytes of the SHA-256 of the entry's bytes without this member/;
  const entry = publishOf(1, "2026-11-21T00Z");
  const message = Buffer.concat([
    Buffer.from(`${line.exec(proof)?.[1]}\n`),
    createHash("sha256").update(renderEntry(entry)).digest(),
  ]);
  const bytes = signedEntry(entry, signedBy(OPERATOR));
  const signature = Buffer.from(JSON.parse(String(bytes)).signature, "base64");
  expect(verify(null, message, createPublicKey(OPERATOR.key), signature)).toBe(true);
});
