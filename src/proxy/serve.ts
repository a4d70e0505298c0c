/** The proxy as a whole: snapshot, application, sockets, and an orderly end. */
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Gatekeeper } from "../state/gatekeeper.ts";
import { InputError, reasonOf } from "../lib/errors.ts";
import { createApp } from "./app.ts";
import { Coder } from "./coding.ts";
import { Connections } from "./connections.ts";
import { documentationPages } from "./docs/reference.ts";
import { listen } from "./listen.ts";
import { LiveSnapshot, type LiveSnapshotOptions } from "./snapshot/live.ts";
import { PerSecond } from "./ops/per-second.ts";
import { startMetricsServer } from "./ops/metrics-server.ts";
import { ProxyMetrics } from "./ops/metrics.ts";
import { Pages } from "./docs/pages.ts";
import { nodeListener } from "./node-listener.ts";
import { answerRefusedRequests } from "./refused-request.ts";

/** What a connection may take, in milliseconds and bytes. */
export interface ConnectionLimits {
  /** Request line and header fields together: room for a key and the largest basket. */
  readonly headerBytes: number;
  /** From the first byte of a request to the end of its header; and for a TLS handshake. */
  readonly headersMs: number;
  /** To the end of the request. */
  readonly requestMs: number;
  /** Between requests. Longer than the usual load balancer's, so that it closes first. */
  readonly keepAliveMs: number;
  /** Without a byte either way while an answer is being sent. */
  readonly stalledMs: number;
  /** For answers in flight to finish when the proxy ends. */
  readonly shutdownMs: number;
}

/** What a connection may take unless a test says otherwise. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  headerBytes: 16 * 1024,
  headersMs: 15_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  stalledMs: 60_000,
  shutdownMs: 30_000,
};

/** TLS 1.2 with forward secrecy and authenticated encryption (AEAD); TLS 1.3 has nothing else. */
const TLS = {
  minVersion: "TLSv1.2",
  ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20",
} as const;

/** What a proxy serves, to whom, and where. */
export interface ProxyOptions extends Omit<LiveSnapshotOptions, "coder"> {
  readonly gatekeeper: Gatekeeper;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** 0: any free one; null: no metrics. */
  readonly metricsPort: number | null;
  /** Proxies of one's own in front, whose X-Forwarded-For is believed. */
  readonly trustedHops: number;
  /** Open at once; the newest beyond it is closed. */
  readonly maxConnections: number;
  /** PEM; null: plain HTTP. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  /** What differs from CONNECTION_LIMITS. */
  readonly limits?: Partial<ConnectionLimits>;
}

/** A proxy that listens. */
export interface RunningProxy {
  /** `http://127.0.0.1:8080`, with the real port. */
  readonly url: string;
  /** With the path; null where there are none. */
  readonly metricsUrl: string | null;
  /**
   * Stops accepting, finishes what is in flight and stops following the store. The store and the
   * gatekeeper stay open; they are the caller's.
   */
  close(): Promise<void>;
}

/**
 * Starts a proxy; resolves when it listens and the head, if there is one, was loaded. Throws
 * UnreachableError where the store cannot be read, InputError where the address cannot be listened
 * on or certificate and key do not fit.
 */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const { gatekeeper, clock, log, host, tls, pollMs } = options;
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const coder = new Coder();
  const live = new LiveSnapshot({ ...options, coder });
  const metrics = new ProxyMetrics(live, gatekeeper, clock, log);
  const refusals = new PerSecond(1);
  const opened: { close(deadlineMs: number): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    live.close();
    await Promise.all(opened.map((connections) => connections.close(limits.shutdownMs)));
  };
  try {
    const pages = new Pages(await documentationPages(), coder, clock.now());
    await live.start();
    const { trustedHops } = options;
    const app = createApp({ live, gatekeeper, pages, clock, log, metrics, pollMs, trustedHops });
    const onFailure = (error: unknown): void => {
      log.error({ err: error }, "request cannot be handled");
    };
    const server = createHttpServer(limits, tls);
    const { stalledMs } = limits;
    const connections = new Connections(server, nodeListener(app, { stalledMs, onFailure }));
    server.maxConnections = options.maxConnections;
    server.on("drop", () => {
      metrics.connectionsRefused += 1;
      if (refusals.passes()) log.warn({ max: options.maxConnections }, "too many connections");
    });
    answerRefusedRequests(server, connections, { gatekeeper, clock, log, metrics });
    const scheme = tls === null ? "http" : "https";
    const url = await listen(server, "--port", scheme, host, options.port);
    opened.push(connections);
    if (options.metricsPort === null) return { url, metricsUrl: null, close };
    const metricsServer = await startMetricsServer(host, options.metricsPort, () => metrics.text());
    opened.push(metricsServer);
    return { url, metricsUrl: metricsServer.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function createHttpServer(limits: ConnectionLimits, tls: ProxyOptions["tls"]): Server {
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    // HTTP/1.1 without Host gets its problem document from the application.
    requireHostHeader: false,
    // No request here has a body: what Node does to read one is a tenth of the work.
    optimizeEmptyRequests: true,
  };
  let server: Server;
  if (tls === null) {
    server = createServer(settings);
  } else {
    try {
      server = createTlsServer({ ...settings, ...TLS, ...tls, handshakeTimeout: limits.headersMs });
    } catch (cause) {
      const message = `--tls-cert and --tls-key cannot be used: ${reasonOf(cause)}`;
      throw new InputError(message, [], { cause });
    }
  }
  // No field is left out of what is looked at: a second Host or key may be the last of thousands.
  server.maxHeadersCount = 0;
  // A client that ends its side after the request still gets an answer that must be waited for.
  return Object.assign(server, { httpAllowHalfOpen: true });
}
