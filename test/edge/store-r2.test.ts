/** The contract of stores for R2, by a Worker in workerd. */
import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";
import { DamageError, UnreachableError } from "../../src/lib/errors.ts";
import type { ObjectPart, ObjectStore, StoredObject } from "../../src/ports/store.ts";
import { startEdge } from "../../tools/edge/start-edge.ts";
import { describeStore } from "../contract/store.contract.ts";

const edge = await startEdge({ beside: { store: "test/edge/store-worker.ts" } });
const url = await edge.urlOf("store");
afterAll(() => edge.close());

for (const folder of ["", "deep/er"])
  describeStore(`R2 in workerd, folder "${folder}"`, async () => {
    const prefix = [randomUUID(), folder].filter(Boolean).join("/");
    const rawNames = async (): Promise<string[]> => {
      const names: string[] = [];
      for await (const { key } of edge.store.list("")) names.push(key);
      return names.filter((name) => name.startsWith(prefix));
    };
    return { store: storeAt(prefix), other: storeAt(prefix), rawNames, dispose: async () => {} };
  });

function storeAt(prefix: string): ObjectStore {
  const ask = async (operation: string, key: string, more: object = {}, body?: Uint8Array) => {
    const asked = JSON.stringify({ operation, prefix, key, ...more });
    const answer = await fetch(url, {
      method: "POST",
      // The key may have letters that no field may have. A kept connection may be closed just then: "other side closed".
      headers: { "x-asked": asked.replaceAll(/[^ -~]/g, escaped), connection: "close" },
      ...(body && { body: new Uint8Array(body) }),
    });
    if (answer.status !== 500) return answer;
    const { message, exitCode } = (await answer.json()) as { message: string; exitCode: unknown };
    if (exitCode === 6) throw new DamageError(message);
    if (exitCode === 5) throw new UnreachableError(message);
    throw new TypeError(message);
  };
  return {
    location: `r2:${prefix}`,
    get: async (key: string, bytesMax?: number, part?: ObjectPart) => {
      const answer = await ask("get", key, { bytesMax, part });
      return answer.status === 404 ? null : Buffer.from(await answer.arrayBuffer());
    },
    open: async (key) => {
      const answer = await ask("open", key);
      if (answer.status === 404) return null;
      const empty = new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
      return { sizeBytes: Number(answer.headers.get("x-size")), stream: answer.body ?? empty };
    },
    create: async (key, bytes) =>
      (await (await ask("create", key, {}, bytes)).json()) as "created" | "taken",
    async *list(key) {
      yield* (await (await ask("list", key)).json()) as StoredObject[];
    },
    delete: async (key) => void (await ask("delete", key)),
    prove: async () => void (await ask("prove", "")),
    mayWrite: async () => void (await ask("mayWrite", "")),
    close: async () => {},
  };
}

const escaped = (letter: string): string =>
  `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
