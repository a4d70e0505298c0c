/** The Worker and the operator's door in workerd on this machine, over a bucket and objects in memory. */
import { createHash, randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import wrangler from "../../deploy/edge/wrangler.json" with { type: "json" };
import { R2Store } from "../../src/hosts/worker/r2-store.ts";
import type { Bucket } from "../../src/hosts/worker/bindings.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { bundled, WORKERS } from "./bundle.ts";

/** The parts of deploy/edge/wrangler.json that are as they are here. */
interface Deployed {
  readonly name: string;
  readonly compatibility_date: string;
  readonly compatibility_flags: string[];
  readonly r2_buckets: readonly { readonly binding: string; readonly bucket_name: string }[];
  readonly durable_objects: {
    readonly bindings: readonly { readonly name: string; readonly class_name: string }[];
  };
}
const deployed = wrangler as Deployed;

export interface EdgeSettings {
  readonly port?: number;
  /** Variables of the Worker. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The source of the Worker, if not the usual one. */
  readonly worker?: string;
  /** More Workers beside it, by name: the source of each. They have the bucket, and an address of their own. */
  readonly beside?: Readonly<Record<string, string>>;
}

export interface RunningEdge {
  readonly url: string;
  /** The location of its state, with the secret: for --state. */
  readonly state: string;
  readonly store: ObjectStore;
  /** The address of a Worker beside it. */
  urlOf(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Miniflare starts the program of MINIFLARE_WORKERD_PATH. Its own one would outlive a process that is killed. */
function useMortalWorkerd(): void {
  const require = createRequire(fileURLToPath(import.meta.resolve("miniflare")));
  process.env["WORKERD"] = (require("workerd") as { default: string }).default;
  process.env["MINIFLARE_WORKERD_PATH"] = join(import.meta.dirname, "workerd.sh");
}

/** Starts them. State and store are empty. */
export async function startEdge({
  port = 0,
  variables = {},
  worker = WORKERS.worker,
  beside = {},
}: EdgeSettings = {}): Promise<RunningEdge> {
  useMortalWorkerd();
  const secret = randomBytes(32).toString("hex");
  const objects = (scriptName?: string) =>
    Object.fromEntries(
      deployed.durable_objects.bindings.map(({ name, class_name: className }) => [
        name,
        { className, useSQLite: true, ...(scriptName !== undefined && { scriptName }) },
      ]),
    );
  const workerOf = async (name: string, source: string) => ({
    name,
    compatibilityDate: deployed.compatibility_date,
    compatibilityFlags: deployed.compatibility_flags,
    modules: [{ type: "ESModule" as const, path: `${name}.js`, contents: await bundled(source) }],
  });
  const r2Buckets = Object.fromEntries(
    deployed.r2_buckets.map(({ binding, bucket_name: name }) => [binding, name]),
  );
  const own = { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] };
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port,
    cf: false,
    workers: [
      {
        ...(await workerOf(deployed.name, worker)),
        r2Buckets,
        durableObjects: objects(),
        bindings: { ...variables },
      },
      {
        ...(await workerOf("door", WORKERS.door)),
        durableObjects: objects(deployed.name),
        bindings: { DOOR_SECRET_SHA256: createHash("sha256").update(secret).digest("hex") },
        ...own,
      },
      ...(await Promise.all(
        Object.entries(beside).map(async ([name, source]) => ({
          ...(await workerOf(name, source)),
          r2Buckets,
          ...own,
        })),
      )),
    ],
  });
  const { origin } = await miniflare.ready;
  const door = await miniflare.unsafeGetDirectURL("door");
  const bucket = (await miniflare.getR2Bucket("SNAPSHOTS")) as unknown as Bucket;
  const reached: Bucket = {
    // What arrives there is an array of this class alone.
    put: (key, bytes, conditions) => bucket.put(key, new Uint8Array(bytes), conditions),
    get: (...all) => bucket.get(...all),
    head: (key) => bucket.head(key),
    list: (wanted) => bucket.list(wanted),
    delete: (key) => bucket.delete(key),
  };
  return {
    url: origin,
    state: `http://:${secret}@${door.host}`,
    store: new R2Store(reached, ""),
    urlOf: async (name) => (await miniflare.unsafeGetDirectURL(name)).origin,
    close: () => miniflare.dispose(),
  };
}
