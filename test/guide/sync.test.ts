/** The copy that `sync` of /client.py keeps equals /history.csv, byte for byte, whatever is published. */
import { afterEach, beforeEach, describe, expect } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { dateText, sessionKey, sessionStartMs } from "../../src/market/session.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { at, catalogOf, lines, type CatalogRow, type Run } from "../cli/market.ts";
import { EXPECTED } from "../golden/market.ts";
import { copyOf, eventually, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/tools.ts";
import { publishInto } from "../http/vintages.ts";
import { readHead } from "../store/log.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { PythonClient, type Synced } from "./python-client.ts";

const API = "/api/public/v1";

let store: MemoryStore;
let clock: TestClock;
let proxy: TestProxy;
let copies: Record<KeyTierName, PythonClient>;
beforeEach(() => {
  store = new MemoryStore();
  clock = new TestClock(Date.parse("2026-12-31T00:00:00Z"));
});
afterEach(async () => {
  await proxy.close();
  await Promise.all(Object.values(copies).map((copy) => copy.remove()));
});

async function start(): Promise<void> {
  proxy = await startTestProxy({ store, clock, pollMs: 5 });
  copies = {
    starter: await PythonClient.download(proxy.url, proxy.starter),
    pro: await PythonClient.download(proxy.url, proxy.pro),
  };
}

/** Waits until the head is served, runs `sync` for each tier, and compares. */
async function follow(what: string): Promise<Record<KeyTierName, Synced & { wholeBytes: number }>> {
  const head = await readHead(store);
  await eventually(async () => (await proxy.get("/readyz")).json.publication === head?.number);
  const told = await Promise.all(
    KEY_TIER_NAMES.map(async (tier) => {
      const headers = { "accept-encoding": "gzip" };
      const coded = await proxy.get(`${API}/history.csv`, { key: proxy[tier], headers });
      const whole = await proxy.get(`${API}/history.csv`, { key: proxy[tier] });
      const [said, written] = await copies[tier].sync();
      expect([tier, what, String(written)]).toEqual([tier, what, whole.text]);
      expect([tier, what, said.publication]).toEqual([tier, what, head?.number]);
      return [tier, { ...said, wholeBytes: coded.raw.length }] as const;
    }),
  );
  return Object.fromEntries(told) as Record<KeyTierName, Synced & { wholeBytes: number }>;
}

testWith("python3")(
  "over the golden log, entry by entry",
  async () => {
    const golden = new FolderStore(EXPECTED);
    store = await copyOf(golden);
    for (let number = 10; number > 1; number -= 1) await store.delete(publicationKey(number));
    await start();
    await follow("entry 1");
    for (let number = 2; number <= 10; number += 1) {
      const key = publicationKey(number);
      await store.create(key, (await golden.get(key)) as Buffer, "");
      await follow(`entry ${number}`);
    }
  },
  120_000,
);
