/** From the options of serving to a running proxy: in this process, or in several. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { StateGatekeeper } from "../access/state.ts";
import type { Clock } from "../clock.ts";
import { InputError } from "../errors.ts";
import type { Logger } from "../proxy/log.ts";
import type { LogOptions } from "../proxy/log-options.ts";
import type { ProxyOptions, RunningProxy } from "../proxy/server.ts";
import { scriptBeside } from "../script.ts";
import type { ServeOptions } from "./serve.ts";
import { readable } from "./option-files.ts";
import { verifyKeysFrom } from "./signing-options.ts";
import { storeFromOptions } from "./store-options.ts";

const MEGABYTE = 1_000_000;
const METRICS_SHUTDOWN_MS = 1_000;
const WORKER = fileURLToPath(scriptBeside(import.meta.url, "serve-worker"));

type Files = Pick<ProxyOptions, "tls" | "store"> & Required<Pick<ProxyOptions, "verifyKeys">>;
type Parts = Files & Pick<ProxyOptions, "gatekeeper" | "clock" | "log" | "reusePort">;

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

/** A proxy in this process; errors as of `startProxy`. */
export async function startOne(options: ServeOptions, parts: Parts): Promise<RunningProxy> {
  const { startProxy } = await import("../proxy/server.ts");
  return startProxy({
    ...parts,
    host: options.host,
    port: options.port,
    metricsPort: metricsPortOf(options),
    pollMs: options.poll,
    graceMs: options.grace,
    trustedHops: options.trustProxy,
    cacheBytes: options.cacheMb * MEGABYTE,
  });
}

/** Workers on one port, with one gatekeeper, which this process holds; metrics of all of them. */
export async function startSeveral(
  options: ServeOptions,
  gatekeeper: StateGatekeeper,
  clock: Clock,
  log: Logger,
): Promise<Pick<RunningProxy, "url" | "metricsUrl" | "close">> {
  const { startWorkers } = await import("../proxy/workers.ts");
  const { startMetricsServer } = await import("../proxy/metrics-server.ts");
  const { workers: count } = options;
  const workers = await startWorkers({
    entry: WORKER,
    count,
    settings: options,
    gatekeeper,
    clock,
    log,
  });
  const port = metricsPortOf(options);
  if (port === null) return { url: workers.url, metricsUrl: null, close: () => workers.close() };
  try {
    const metrics = await startMetricsServer(options.host, port, () => workers.metrics());
    const close = async (): Promise<void> => {
      await Promise.all([workers.close(), metrics.close(METRICS_SHUTDOWN_MS)]);
    };
    return { url: workers.url, metricsUrl: metrics.url, close };
  } catch (error) {
    await workers.close();
    throw error;
  }
}

const metricsPortOf = ({ metricsPort }: ServeOptions): number | null =>
  metricsPort === "off" ? null : metricsPort;

async function readTls({ tlsCert, tlsKey }: ServeOptions): Promise<ProxyOptions["tls"]> {
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InputError("--tls-cert and --tls-key belong together: give both, or none");
  }
  const read = (option: string, file: string): Promise<Buffer> =>
    readable(`${option} ${JSON.stringify(file)}`, () => readFile(file));
  return { cert: await read("--tls-cert", tlsCert), key: await read("--tls-key", tlsKey) };
}
