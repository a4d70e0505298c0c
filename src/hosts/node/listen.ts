/** Starts and stops the whole proxy: service and sockets. */
import {
  CONNECTION_LIMITS,
  METRICS_CONNECTIONS_MAX,
  type ConnectionLimits,
} from "../../lib/limits.ts";
import type { ServerResponse } from "node:http";
import type { Answer } from "../../core/answer.ts";
import { appListener } from "./door.ts";
import { Backlog } from "./backlog.ts";
import { shortened } from "../../core/client-address.ts";
import { Connections, limitConnections } from "./connections.ts";
import {
  createHttpServer,
  endOf,
  listen,
  listenOn,
  useCertificate,
  type Certificate,
} from "./server.ts";
import { perSecond } from "./per-second.ts";
import { UnreachableError } from "../../lib/errors.ts";
import { startMetricsServer } from "./metrics-server.ts";
import type { World } from "../../core/world.ts";
import { respond } from "./respond.ts";
import { NodeService, type ServiceOptions } from "./service.ts";
import { answerRefusedRequests } from "./refused-request.ts";

/** What a proxy serves, to whom, and where. */
export interface ProxyOptions extends Omit<ServiceOptions, "backlog" | "certificateEndMs"> {
  readonly host: string;
  /** The file descriptor of a listening socket, in place of host and port; null: the proxy opens its own. */
  readonly socket: number | null;
  /** 0: any free port. */
  readonly port: number;
  /** 0: any free port; null: no metrics. */
  readonly metricsPort: number | null;
  /** The address of the metrics port. */
  readonly metricsHost: string;
  /** How many connections may be open at once; a further one is closed at once. */
  readonly maxConnections: number;
  /** How many of them one address may have. Without effect behind trusted proxies: they have one address. */
  readonly maxConnectionsPerAddress: number;
  /** Null: plain HTTP. */
  readonly tls: Certificate | null;
  /** Replace the values of CONNECTION_LIMITS. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** How often a proxy without its metrics port tries to get it. */
const METRICS_RETRY_MS = 5_000;

export interface RunningProxy {
  /** `http://127.0.0.1:8080`, with the actual port. */
  readonly url: string;
  /** With the path; null: no metrics, or their port was in use at the start. */
  readonly metricsUrl: string | null;
  /** What its answers come from. */
  readonly world: World;
  /** Resolves when the first snapshot is served: `/readyz` is 200 from then on. */
  readonly ready: Promise<void>;
  /**
   * Gives this certificate to new connections; open ones go on. Throws InputError if certificate and
   * key do not fit, or the proxy serves plain HTTP; nothing changes then.
   */
  renewCertificate(tls: Certificate): void;
  /**
   * Stops accepting, finishes answers in flight and stops following the store. Does not close the
   * store and the accounts; the caller does.
   */
  close(): Promise<void>;
}

/**
 * Starts a proxy. Resolves when it listens and the head, if there is one, is loaded; without it, if the
 * store is away (see LiveSnapshot). Metrics whose port is in use begin when it is free. Throws
 * UnreachableError if the store cannot be used or the port of the proxy is in use, and InputError if the proxy cannot listen on the address or certificate and key do not fit.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { log, host, tls } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const backlog = new Backlog(limits.waitingBytes, limits.stalledMs, options.trustedHops);
  let certificate = tls;
  const certificateEndMs = (): number => (certificate === null ? 0 : endOf(certificate));
  const service = new NodeService({ ...options, backlog, certificateEndMs });
  const { metrics } = service;
  const isFirst = perSecond(1);
  const isFirstOfAddress = perSecond(1);
  const opened: Connections[] = [];
  let metricsRetries: NodeJS.Timeout | undefined;
  const close = async (): Promise<void> => {
    service.close();
    clearInterval(metricsRetries);
    const lingerMs = options.socket === null ? 0 : limits.lingerMs;
    await Promise.all(opened.map((each) => each.close(limits.shutdownMs, lingerMs)));
  };
  try {
    const worldAt = await service.start();
    const server = createHttpServer(limits, tls);
    const { socket } = options;
    const url = await (socket === null
      ? listen(server, "--port", host, options.port)
      : listenOn(server, socket));
    // Nothing waits from here to the listeners: no connection arrives before they are there.
    const world = worldAt(url);
    const onFailure = (error: unknown): void => {
      log.error({ err: error }, "request cannot be handled");
    };
    const send = (response: ServerResponse, answer: Answer): void | Promise<void> =>
      respond(response, answer, backlog);
    const listener = appListener(world, send, onFailure);
    const connections = new Connections(server, listener);
    server.maxConnections = options.maxConnections;
    const refused = (max: number) => (): void => {
      metrics.connectionsRefused += 1;
      if (isFirst()) log.warn({ max }, "too many connections");
    };
    server.on("drop", refused(options.maxConnections));
    if (options.trustedHops === 0) {
      const max = options.maxConnectionsPerAddress;
      limitConnections(server, options.maxConnections, max, (address, why) => {
        metrics.connectionsRefused += 1;
        if (!isFirstOfAddress()) return;
        log.warn(
          { max: why === "in all" ? options.maxConnections : max, why, from: shortened(address) },
          "too many connections from one address or network; behind a proxy of your own set --trust-proxy",
        );
      });
    }
    answerRefusedRequests(server, connections, world);
    opened.push(connections);
    const ready = service.loaded;
    const renewCertificate = (renewed: Certificate): void => {
      useCertificate(server, renewed);
      certificate = renewed;
    };
    const running = { url, metricsUrl: null, world, ready, renewCertificate, close };
    const { metricsHost, metricsPort } = options;
    if (metricsPort === null) return running;
    const serveMetrics = async (): Promise<string> => {
      const scraped = await startMetricsServer(
        metricsHost,
        metricsPort,
        () => metrics.text(),
        refused(METRICS_CONNECTIONS_MAX),
      );
      opened.push(scraped.connections);
      return scraped.url;
    };
    try {
      return { ...running, metricsUrl: await serveMetrics() };
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      log.error({ trouble: error.message }, "no metrics: their port is in use");
    }
    // The program that has the port may end, and the service must not stop for it.
    const retry = async (): Promise<void> => {
      await serveMetrics();
      clearInterval(metricsRetries);
      log.info({}, "metrics are served now");
    };
    metricsRetries = setInterval(() => void retry().catch(() => undefined), METRICS_RETRY_MS);
    metricsRetries.unref();
    return running;
  } catch (error) {
    await close();
    throw error;
  }
}
