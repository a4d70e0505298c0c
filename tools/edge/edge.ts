/**
 * `npm run edge -- --from STORE --port N`: a store and new keys behind the Worker, in workerd on this machine. Prints one line
 * `{"url":…,"keys":{"starter":…,"pro":…}}` once it answers, and ends with SIGINT or SIGTERM.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { createClock } from "../../src/lib/clock.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import { withRegistry } from "../../src/state/open.ts";
import { openStore } from "../../src/store/open-store.ts";

interface Options {
  readonly from: string;
  readonly port: string;
}

const options = new Command("edge")
  .description("Runs the Worker in workerd on this machine, over a copy of a store.")
  .requiredOption("--from <store>", "the store to serve: a folder or s3://bucket/prefix")
  .option("--port <port>", "the port on 127.0.0.1; 0: a free one", "8787")
  .addHelpText("after", "\nExample:\n  npm run edge -- --from ./snapshots/example --port 8787")
  .parse()
  .opts<Options>();

const TOOLS = join(import.meta.dirname, "..");
if (!existsSync(join(TOOLS, "node_modules", "miniflare"))) {
  console.error("installing the tools of the project, once");
  spawnSync("npm", ["ci", "--prefix", TOOLS], { stdio: ["ignore", 2, 2] });
}
const { startEdge } = await import("./start-edge.ts");
const now = process.env["CHIPBOARD_NOW"];
const source = await openStore(options.from);
const edge = await startEdge({
  port: Number(options.port),
  variables: now === undefined ? {} : { CHIPBOARD_NOW: now },
});
let copied = 0;
for await (const { key } of source.list("")) {
  await edge.store.create(key, (await source.get(key)) as Buffer);
  copied += 1;
}
await source.close();
console.error(`${copied} objects are in the bucket`);
const keys: Partial<Record<KeyTierName, string>> = {};
await withRegistry(edge.state, createClock(now), "create", async (registry) => {
  for (const tier of KEY_TIER_NAMES) {
    await registry.addAccount(tier, tier, null);
    keys[tier] = (await registry.createKey(tier, null)).key;
  }
});
console.error(`the operator's door: --state ${edge.state}`);
console.log(JSON.stringify({ url: edge.url, keys }));
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void edge.close().then(() => process.exit()));
