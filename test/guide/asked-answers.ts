/**
 * The answers in the guide and in the OpenAPI document, from a real proxy. `node
 * test/guide/record.ts` records them; a test compares them.
 */
import { ORIGIN } from "./guide-texts.ts";
import { call } from "../http/client.ts";
import { askRefusals } from "./refusals.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { API, startExampleService, type Example } from "./example-service.ts";

const REQUESTS: readonly (readonly [path: string, tier: Example["tier"]])[] = [
  [`${API}/contracts`, null],
  [`${API}/contracts.csv`, null],
  [`${API}/prices`, null],
  [`${API}/prices?publication=1`, "starter"],
  [`${API}/prices/ddr5-16gb`, "pro"],
  [`${API}/index`, "pro"],
  [`${API}/index?ids=ddr5-16gb,tlc-1tb&weights=60,40`, "pro"],
  [`${API}/index?ids=ddr5-16gb,tlc-1tb,n3-wafer&quantities=64,2,0.02`, "pro"],
  [`${API}/index?ids=ddr5-16gb,tlc-1tb&quantities=64,2`, "pro"],
  [`${API}/indices`, "starter"],
  [`${API}/indices/composite`, "starter"],
  [`${API}/export.csv`, "pro"],
  [`${API}/history.csv`, "pro"],
  [`${API}/history.csv?ids=ddr5-16gb,tlc-1tb&last=2`, "pro"],
  [`${API}/history.csv?publication=1`, "pro"],
  [`${API}/levels.csv`, "pro"],
  [`${API}/superseded.csv`, "pro"],
  [`${API}/indices.csv`, "starter"],
  [`${API}/members.csv`, "pro"],
  [`${API}/settlements.csv`, "pro"],
  [`${API}/settlements/contracts/ddr5-16gb`, "pro"],
  [`${API}/settlements/indices/composite`, "pro"],
  [`${API}/sparklines`, "pro"],
  [`${API}/corrections`, "pro"],
  [`${API}/publications`, null],
  [`${API}/sums`, null],
  ["/log/2", null],
  [`${API}/usage`, "starter"],
  ["/feed.atom", null],
  ["/status.json", null],
  ["/healthz", null],
  ["/readyz", null],
];

/** Sends all requests. */
export async function askAll(): Promise<Example[]> {
  const service = await startExampleService();
  try {
    const examples: Example[] = [];
    for (const [path, tier] of REQUESTS) {
      const key = tier === null ? {} : { key: service.keys[tier] };
      const { status, text } = await call(service.url + path, key);
      // The feed has the address at which it was asked.
      const body = text.replaceAll(service.url, ORIGIN);
      examples.push({ request: `GET ${path}`, tier, status, body });
    }
    const verifyKeys = [GOLDEN_KEY.verifyKey];
    const signed = await service.serve(new MemoryStore(), { verifyKeys });
    const { status, text } = await call(`${signed}/log/keys.pem`);
    examples.push({ request: "GET /log/keys.pem", tier: null, status, body: text });
    return [...examples, ...(await askRefusals(service))];
  } finally {
    await service.close();
  }
}
