/** Requests that the proxy refuses: one for each code, with all that must be wrong for it. */
import { once } from "node:events";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KeyTierName } from "../../src/market/tier.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { FILES, snapshotFileKey, snapshotText } from "../../src/store/paths.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import { withoutFiles } from "../cli/older-head.ts";
import { call, SAME_ID, type CallOptions } from "../http/client.ts";
import { eventually } from "../http/fixture.ts";
import {
  API,
  publishExample,
  reviseExample,
  SESSION,
  type Example,
  type ExampleService,
} from "./example-service.ts";

/** Asks for all of them. The service is of no use afterwards: its quota is spent, its state gone. */
export async function askRefusals(service: ExampleService): Promise<Example[]> {
  const examples: Example[] = [];
  const ask = async (
    url: string,
    path: string,
    tier: KeyTierName | null = null,
    { method = "GET", ...more }: CallOptions = {},
  ): Promise<void> => {
    const key = tier === null ? {} : { key: service.keys[tier] };
    const { status, text } = await call(url + path, { method, ...key, ...more });
    examples.push({ request: `${method} ${path}`, tier, status, body: text });
  };

  const { url } = service;
  await ask(url, `${API}/index`);
  await ask(url, `${API}/index?ids=ddr5-16gb,ddr6&weights=60,0`, "pro");
  await ask(url, `${API}/index?ids=ddr5-16gb,ddr6`, "pro");
  await ask(url, `${API}/prices/ddr6`, "pro");
  await ask(url, `${API}/indices/ddr6`, "pro");
  await ask(url, `${API}/prices/ddr5-16gb?to=2026-06-30`, "starter");
  await ask(url, `${API}/export.xlsx`, "starter");
  await ask(url, `${API}/prices?symbol=DDR5`);
  await ask(url, `${API}/price`);
  await ask(url, "/log/keys.pem");
  await ask(url, `${API}/prices`, null, { method: "POST" });
  await ask(url, `${API}/prices?api_key=KEY`);
  await ask(url, `${API}/prices`, null, { headers: { "x-api-key": "KEY" } });
  await ask(url, `${API}/prices`, null, { key: service.keys.suspended });
  await ask(url, `${API}/prices`, null, { key: service.keys.lapsed });
  await ask(url, `${API}/prices`, null, { headers: { "content-length": "2" }, body: "{}" });
  await ask(url, `${API}/prices`, null, { headers: { "x-large": "x".repeat(17_000) } });
  await ask(url, `${API}/export.csv`, "pro", { headers: { range: "bytes=100000-" } });

  await ask(url, `${API}/prices`, "pro", { headers: { "if-match": '"of-before"' } });

  await ask(url, `${API}/prices?publication=99`, "pro");
  await ask(url, `${API}/prices?as_of=2026-02-30T00:00:00Z`, "pro");

  // A store whose first snapshot a prune took, and that cannot be read in the end.
  const folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
  try {
    const root = join(folder, "snapshots");
    const kept = new FolderStore(root);
    await publishExample(kept, true);
    await reviseExample(kept);
    const snapshots = [snapshotText({ session: SESSION, revision: 1 })];
    await append(kept, { ...EMPTY_PRUNE, snapshots }, service.clock.now());
    const pruned = await service.serve(kept);
    await ask(pruned, `${API}/prices?publication=1`, "pro");
    await rename(root, `${root}.away`);
    await writeFile(root, "");
    await ask(pruned, `${API}/prices?publication=2`, "pro");
  } finally {
    await rm(folder, { recursive: true });
  }

  // A market without the history of a year, and then without some of its files.
  const young = new MemoryStore();
  await publishExample(young, false);
  await withoutFiles(young, /^pro\/export\.xlsx$/);
  const streaming = await service.serve(young, { cacheBytes: 0 });
  await ask(streaming, `${API}/index?ids=ddr5-16gb`, "pro");
  await ask(streaming, `${API}/prices/tlc-1tb`, "pro");
  await ask(streaming, `${API}/export.xlsx`, "pro");
  await young.delete(snapshotFileKey({ session: SESSION, revision: 1 }, FILES.csv("pro")));
  await ask(streaming, `${API}/export.csv`, "pro");

  const limits = { headersMs: 200, requestMs: 300 };
  // At another place: the state remembers the store of the others.
  const empty = await service.serve(new MemoryStore("memory:empty"), { limits });
  await ask(empty, `${API}/prices`);
  const unfinished = `GET ${API}/prices`;
  const [status, body] = await answerTo(empty, `${unfinished} HTTP/1.1\r\nHost: x\r\n`);
  examples.push({ request: unfinished, tier: null, status, body });

  const { accounts, clock } = service;
  const subject = accounts.addressSubject("127.0.0.1", clock.now());
  for (let calls = 0; calls < 1_000; calls += 1) {
    await accounts.counts.take(subject, 1_000, clock.now(), null);
  }
  await ask(url, `${API}/prices`);

  // The key is one that the proxy has not seen yet.
  const file = join(service.state, "chipboard.sqlite");
  await rename(file, `${file}.away`);
  await eventually(() => accounts.trouble !== null);
  await ask(url, `${API}/prices`, null, { key: service.keys.unseen });
  await rename(`${file}.away`, file);
  return examples;
}

/** Status and body of the answer to bytes that are no whole request. */
async function answerTo(url: string, bytes: string): Promise<[status: number, body: string]> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.setEncoding("latin1").write(bytes);
  let text = "";
  socket.on("data", (piece: string) => (text += piece));
  await once(socket, "close");
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [, requestId = ""] = /^x-request-id: (.*)$/m.exec(head) ?? [];
  return [Number(head.split(" ")[1]), body.replaceAll(requestId.trim(), SAME_ID)];
}
