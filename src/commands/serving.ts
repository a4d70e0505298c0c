/** From the options of serving to a running proxy. */
import { readFile } from "node:fs/promises";
import { InputError } from "../errors.ts";
import type { LogOptions } from "../proxy/ops/log-options.ts";
import type { ProxyOptions, RunningProxy } from "../proxy/serve.ts";
import type { ServeOptions } from "./serve.ts";
import { readable } from "./option-files.ts";
import { verifyKeysFrom } from "./signing-options.ts";
import { storeFromOptions } from "./store-options.ts";

const MEGABYTE = 1_000_000;

type Files = Pick<ProxyOptions, "tls" | "store"> & Required<Pick<ProxyOptions, "verifyKeys">>;
type Parts = Files & Pick<ProxyOptions, "gatekeeper" | "clock" | "log">;

/**
 * What is served, with which certificate, and signed by whom. Throws InputError where an option
 * names no such thing.
 */
export async function openFiles(options: ServeOptions): Promise<Files> {
  const tls = await readTls(options);
  const verifyKeys = await verifyKeysFrom(options);
  return { tls, verifyKeys, store: await storeFromOptions(options) };
}

/** What the options say of the log. */
export const logOptions = ({ logLevel, logRequests }: ServeOptions): LogOptions => ({
  level: logLevel,
  requests: logRequests,
});

/** Starts the proxy; throws what `startProxy` throws. */
export async function start(options: ServeOptions, parts: Parts): Promise<RunningProxy> {
  const { startProxy } = await import("../proxy/serve.ts");
  return startProxy({
    ...parts,
    host: options.host,
    port: options.port,
    metricsPort: options.metricsPort === "off" ? null : options.metricsPort,
    pollMs: options.poll,
    graceMs: options.grace,
    trustedHops: options.trustProxy,
    maxConnections: options.maxConnections,
    cacheBytes: options.cacheMb * MEGABYTE,
  });
}

async function readTls({ tlsCert, tlsKey }: ServeOptions): Promise<ProxyOptions["tls"]> {
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InputError("--tls-cert and --tls-key belong together: give both, or none");
  }
  const read = (option: string, file: string): Promise<Buffer> =>
    readable(`${option} ${JSON.stringify(file)}`, () => readFile(file));
  return { cert: await read("--tls-cert", tlsCert), key: await read("--tls-key", tlsKey) };
}
