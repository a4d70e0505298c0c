/** Services of the Worker in workerd, for tests that are written for any mouth. */
import { startEdge } from "../../tools/edge/start-edge.ts";
import { call, type CallOptions } from "../http/client.ts";
import {
  publishedStore,
  startOver,
  TestClock,
  type TestProxy,
  type TestProxyOptions,
} from "../http/fixture.ts";
import type { World } from "../../src/core/world.ts";
import type { ObjectStore } from "../../src/ports/store.ts";

export interface TestEdge extends TestProxy {
  /** The location of its state, by the operator's door. */
  readonly state: string;
}

/** Starts the Worker over a copy of a store, and the accounts of the usual proxy. */
export async function startTestEdge(options: TestProxyOptions = {}): Promise<TestEdge> {
  const { store = await publishedStore(), clock = new TestClock() } = options;
  const { publicUrl, plans, verifyKeys, pollMs = 50, graceMs = 3_600_000 } = options;
  const edge = await startEdge({
    worker: "test/edge/test-worker.ts",
    variables: {
      POLL_SECONDS: String(pollMs / 1_000),
      GRACE_SECONDS: String(graceMs / 1_000),
      ...(publicUrl && { PUBLIC_URL: publicUrl }),
      ...(plans && { PLANS: JSON.stringify(plans) }),
      ...(verifyKeys && { VERIFY_KEY: verifyKeys.map(({ pem }) => pem).join("") }),
    },
  });
  await copyInto(store, edge.store);
  const mouth = { ...options, store: edge.store, clock, state: edge.state };
  const proxy = await startOver(mouth, async () => ({
    url: edge.url,
    metricsUrl: "",
    // It is in the isolate, out of reach.
    world: null as unknown as World,
    get: (path: string, { headers = {}, ...asked }: CallOptions = {}) =>
      call(edge.url + path, { ...asked, headers: { ...headers, "x-test-now": String(clock.ms) } }),
    close: async () => {},
  }));
  return {
    ...proxy,
    state: edge.state,
    // What uses its state is closed before it.
    close: async () => {
      await proxy.close();
      await edge.close();
    },
  };
}

/** Copies each object that is not there yet. */
export async function copyInto(from: ObjectStore, to: ObjectStore): Promise<void> {
  for await (const { key } of from.list("")) await to.create(key, (await from.get(key)) as Buffer);
}
