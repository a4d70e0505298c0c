/**
 * Reads lists through the client that Orval makes of the running proxy's OpenAPI document. Prints the lists.
 */
import { exportHistoryCsv, getBoard, getIndex, type ContractRecord } from "./orval.ts";

declare const process: { readonly argv: readonly string[] };
const [, key = "", ...ids] = process.argv.slice(2);

const options = { headers: { "x-api-key": key } };
const board = await getBoard({ ids }, options);
if (board.status !== 200) throw new Error(`board: ${board.status}`);
const records: ContractRecord[] = [...board.data.memory, ...board.data.semiconductor];
const basket = await getIndex({ ids, weights: [2, 1] }, options);
if (basket.status !== 200) throw new Error(`basket: ${basket.status}`);
const history = await exportHistoryCsv({ segment: ["dram"], last: 1 }, options);
if (history.status !== 200) throw new Error(`history: ${history.status}`);
const csv: string = history.data;
const refused = await getIndex();
const code: string | null = refused.status === 401 ? refused.data.code : null;

console.log(
  JSON.stringify({
    ids: records.map((record) => record.id),
    basket: [basket.data.weighting, basket.data.constituents],
    csvHeader: csv.split(",", 2),
    code,
  }),
);
