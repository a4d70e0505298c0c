/**
 * Reads endpoints of every kind through types generated from the running proxy's OpenAPI document
 * (openapi.d.ts, made by the test). Prints the lists as JSON.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.d.ts";

declare const process: { readonly argv: readonly string[] };
const [baseUrl = "", key = "", ...ids] = process.argv.slice(2);

const client = createClient<paths>({
  baseUrl,
  headers: { "x-api-key": key },
  // It does not take the style of lists from the document.
  querySerializer: { array: { style: "form", explode: false } },
});
const keyless = createClient<paths>({ baseUrl });

function required<T>(data: T | undefined, what: string): T {
  if (data === undefined) throw new Error(`${what}: no data`);
  return data;
}

const board = required((await client.GET("/api/public/v1/prices")).data, "board");
const records: components["schemas"]["ContractRecord"][] = [
  ...board.memory,
  ...board.semiconductor,
];
const [first] = records;
const id: string = required(first, "a record").id;
const change: number | null = required(first, "a record").chg_24h_pct;

const path = { id };
const contract = required(
  (await client.GET("/api/public/v1/prices/{id}", { params: { path } })).data,
  id,
);
const lastClose: number | undefined = contract.history.at(-1)?.close_usd;

const index = required((await client.GET("/api/public/v1/index")).data, "index");
const query = { ids, weights: [2, 1] };
const basket = required(
  (await client.GET("/api/public/v1/index", { params: { query } })).data,
  "basket",
);
const chosen = required(
  (await client.GET("/api/public/v1/prices", { params: { query: { ids } } })).data,
  "contracts chosen",
);
const csvQuery = { segment: ["dram"], last: 1 };
const history: string = required(
  (
    await client.GET("/api/public/v1/history.csv", {
      params: { query: csvQuery },
      parseAs: "text",
    })
  ).data,
  "history",
);
const csv: string = required(
  (await client.GET("/api/public/v1/export.csv", { parseAs: "text" })).data,
  "csv",
);
const workbook = await client.GET("/api/public/v1/export.xlsx", { parseAs: "arrayBuffer" });
const xlsx = required(workbook.data, "xlsx") as unknown as ArrayBuffer;
const usage = required((await client.GET("/api/public/v1/usage")).data, "usage");
const health = required((await client.GET("/healthz")).data, "health");
const readiness = required((await client.GET("/readyz")).data, "readiness");
const sums: string = required(
  (await client.GET("/api/public/v1/sums", { parseAs: "text" })).data,
  "sums",
);
const entryPath = { id: String(readiness.publication) };
const entry = required(
  (await client.GET("/log/{id}", { params: { path: entryPath } })).data,
  "entry",
);
const root: string | null | undefined = entry.roots?.pro;
const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(sums));
const document = required((await client.GET("/openapi.json")).data, "document");

const refused = await keyless.GET("/api/public/v1/index");
const code: components["schemas"]["Problem"]["code"] | undefined = refused.error?.code;

console.log(
  JSON.stringify({
    records: records.length,
    ids: [...chosen.memory, ...chosen.semiconductor].map((record) => record.id),
    change,
    lastIsSpot: lastClose === contract.spot_usd,
    index: [index.name, index.weighting],
    basket: [basket.weighting, basket.constituents],
    csvHeader: history.split(",", 2),
    boardHeader: csv.split(",", 2),
    xlsxStart: String.fromCharCode(...new Uint8Array(xlsx, 0, 2)),
    account: usage.account,
    health: health.status,
    overdue: readiness.overdue,
    isRoot:
      Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("") ===
      root,
    openapi: document["openapi"],
    code,
  }),
);
