/** `serve`: answers requests from the published snapshots until SIGTERM or SIGINT. */
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isatty } from "node:tty";
import { Command } from "commander";
import { clockFromEnvironment, isReadinessAwaited, takeSocket } from "../lib/config.ts";
import { InputError, reasonOf } from "../lib/errors.ts";
import { printLine } from "../lib/terminal.ts";
import type { Logger } from "../hosts/node/request-log.ts";
import type { PlanTerms } from "../pages/plan-terms.ts";
import type { Certificate } from "../hosts/node/server.ts";
import type { RunningProxy } from "../hosts/node/listen.ts";
import type { Listeners } from "../state/state-accounts.ts";
import { examples, withOptions } from "./every-command.ts";
import { readable } from "./option-files.ts";
import { serveOptions, type ServeOptions } from "./serve-options.ts";
import { verifyKeyOption, verifyKeysFrom } from "./signing-options.ts";
import { storeFromOptions } from "./store-options.ts";

const MEGABYTE = 1_000_000;
const END_MS = 1_000;

export function serveCommand(): Command {
  return withOptions(new Command("serve"), serveOptions())
    .addOption(
      verifyKeyOption(
        "serve only what one of these public keys has signed: the log to its newest entry",
      ),
    )
    .addHelpText(
      "after",
      examples(
        "serve",
        "serve --store s3://prices/chipboard --state redis://127.0.0.1:6379/0 --host 0.0.0.0",
        "serve --verify-key signing.pem.pub",
        "serve --public-url https://prices.example --trust-proxy 1",
        "serve --plans plans.json",
        "serve --port 8443 --tls-cert cert.pem --tls-key key.pem --trust-proxy 1",
      ),
    )
    .action((options: ServeOptions) =>
      serve(options, ({ url, metricsUrl }) =>
        printLine(
          options.json ? JSON.stringify({ url, metrics_url: metricsUrl }) : `listening on ${url}`,
        ),
      ),
    );
}

/**
 * Serves until `ended`: by default SIGTERM or SIGINT. `whileServing` begins once the proxy listens; if it
 * throws, the proxy also ends.
 */
export async function serve(
  options: ServeOptions,
  whileServing: (proxy: RunningProxy) => void | Promise<void>,
  ended = nextSignal(),
): Promise<void> {
  const { openAccounts } = await import("../state/open.ts");
  const { startProxy } = await import("../hosts/node/listen.ts");
  const { createLogger, jsonLine, textLine } = await import("../hosts/node/request-log.ts");
  const clock = clockFromEnvironment();
  const started = Promise.withResolvers<RunningProxy>();
  const tls = await readTls(options);
  const verifyKeys = await verifyKeysFrom(options);
  const plans = await readPlans(options);
  const store = await storeFromOptions(options);
  try {
    const { logLevel: level, logRequests: requests } = options;
    const form = process.stderr.isTTY ? textLine : jsonLine;
    const log = createLogger({ level, requests, form }, clock);
    renewOnHangUp(options, started.promise, log);
    const accounts = await openAccounts(options.state, clock, listenersOf(log));
    try {
      const keys = verifyKeys?.map(({ fingerprint }) => fingerprint);
      if (keys !== undefined) log.info({ keys }, "only signed entries are served");
      const proxy = await startProxy({
        store,
        verifyKeys,
        tls,
        plans,
        accounts,
        clock,
        log,
        host: options.host,
        socket: takeSocket(),
        port: options.port,
        publicUrl: options.publicUrl ?? null,
        metricsHost: options.metricsHost,
        metricsPort: options.metricsPort === "off" ? null : options.metricsPort,
        pollMs: options.poll,
        graceMs: options.grace,
        trustedHops: options.trustProxy,
        maxConnections: options.maxConnections,
        maxConnectionsPerAddress: options.maxConnectionsPerAddress,
        cacheBytes: options.cacheMb * MEGABYTE,
      });
      started.resolve(proxy);
      void proxy.ready.then(() => tellReady(log));
      try {
        await whileServing(proxy);
        await ended;
      } finally {
        await proxy.close();
      }
    } finally {
      await accounts.close();
    }
  } finally {
    await store.close();
    // Nothing waits for a reader of standard output or of the log who does not read.
    setTimeout(() => process.exit(), END_MS).unref();
  }
}

/** Writes into the log how the state fares. */
const listenersOf = (log: Logger): Listeners => ({
  onTrouble: (trouble) => {
    if (trouble === null) log.info({}, "the state answers again");
    else log.error({ trouble }, "the state does not answer; calls of known keys are counted here");
  },
  onRefusal: (trouble) => {
    if (trouble === null) log.info({}, "the state takes writes again");
    else log.error({ trouble }, "the state takes no writes; calls are counted here until it does");
  },
  onEviction: (policy) => {
    if (policy === null) log.info({}, "Redis keeps everything again");
    else log.error({ policy }, "Redis may drop accounts, keys and counts");
  },
});

/** Tells systemd that the unit is ready, if it waits for that. Node has no datagrams of Unix sockets. */
function tellReady(log: Logger): void {
  if (!isReadinessAwaited()) return;
  execFile("systemd-notify", ["--ready"], (error) => {
    if (error !== null)
      log.error({ trouble: reasonOf(error) }, "systemd cannot be told that the proxy is ready");
  });
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process as it does by default. */
export const nextSignal = (): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      process.off("SIGTERM", end).off("SIGINT", end);
      resolve();
    };
    process.on("SIGTERM", end).on("SIGINT", end);
  });

/**
 * On each SIGHUP reads certificate and key again. If they cannot be used, the proxy keeps the old ones
 * and the log says why. In a terminal SIGHUP says that the terminal is closed, and ends the process.
 */
function renewOnHangUp(options: ServeOptions, started: Promise<RunningProxy>, log: Logger): void {
  if (isatty(0)) return;
  let renewed: Promise<void> = Promise.resolve();
  process.on("SIGHUP", () => {
    renewed = renewed.then(() => renew(options, started, log));
  });
}

async function renew(
  options: ServeOptions,
  started: Promise<RunningProxy>,
  log: Logger,
): Promise<void> {
  const proxy = await started;
  try {
    const tls = await readTls(options);
    if (tls === null) return log.info({}, "SIGHUP ignored: no --tls-cert configured");
    proxy.renewCertificate(tls);
    const { subject, validTo } = new X509Certificate(tls.cert);
    log.info({ subject, valid_to: validTo }, "SIGHUP: new connections get this certificate");
  } catch (error) {
    const trouble = reasonOf(error);
    log.error({ trouble }, "SIGHUP: the certificate cannot be used; the old one stays in use");
  }
}

/** The certificate of `--tls-cert` and `--tls-key`; null: none is named. Throws InputError if it cannot be read. */
export async function readTls({ tlsCert, tlsKey }: ServeOptions): Promise<Certificate | null> {
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InputError("--tls-cert and --tls-key belong together: give both, or none");
  }
  const read = (option: string, file: string): Promise<Buffer> =>
    readable(`${option} ${JSON.stringify(file)}`, () => readFile(file));
  return { cert: await read("--tls-cert", tlsCert), key: await read("--tls-key", tlsKey) };
}

/** The terms in the file of `--plans`; undefined: the usual ones; none if the operator tells them elsewhere. */
export async function readPlans({
  plans: file,
}: Pick<ServeOptions, "plans">): Promise<PlanTerms | undefined> {
  if (file === undefined) return undefined;
  if (file === "off") return {};
  const { parsePlanTerms } = await import("../pages/plan-terms.ts");
  const where = `--plans ${JSON.stringify(file)}`;
  return parsePlanTerms(await readable(where, () => readFile(file)), where);
}
