/**
 * Reads lists through the client that Hey API makes of the running proxy's OpenAPI document. Prints the
 * lists.
 */
import { createClient } from "./hey-api/client/index.ts";
import { exportHistoryCsv, getBoard, getIndex } from "./hey-api/sdk.gen.ts";
import type { ContractRecord } from "./hey-api/types.gen.ts";

declare const process: { readonly argv: readonly string[] };
const [baseUrl = "", key = "", ...ids] = process.argv.slice(2);

const client = createClient({ baseUrl, auth: key });
const throwOnError = true as const;
const board = await getBoard({ client, throwOnError, query: { ids } });
const records: ContractRecord[] = [...board.data.memory, ...board.data.semiconductor];
const query = { ids, weights: [2, 1] };
const basket = await getIndex({ client, throwOnError, query });
const history = await exportHistoryCsv({
  client,
  throwOnError,
  parseAs: "text",
  query: { segment: ["dram"], last: 1 },
});
const csv: string = history.data;
const refused = await getIndex({ client: createClient({ baseUrl }) });
const code: string | undefined = refused.error?.code;

console.log(
  JSON.stringify({
    ids: records.map((record) => record.id),
    basket: [basket.data.weighting, basket.data.constituents],
    csvHeader: csv.split(",", 2),
    code,
  }),
);
