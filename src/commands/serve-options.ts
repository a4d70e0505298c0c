/** The options of `serve`, and how their values are read. */
import { CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS } from "../lib/limits.ts";
import type { Option } from "commander";
import { HOUR_MS } from "../lib/clock.ts";
import { createOption } from "../lib/config.ts";
import {
  LOG_LEVELS,
  REQUEST_LOGS,
  type LogLevel,
  type RequestLog,
} from "../hosts/node/log-options.ts";
import { jsonOption } from "./every-command.ts";
import { durationMs, oneOf, parsedBy, textThat, wholeNumber } from "./option-values.ts";
import type { VerifyKeyOptions } from "./signing-options.ts";
import { stateOption, type StateOptions } from "./state-options.ts";
import { storeOptions, type StoreOptions } from "./store-options.ts";

/**
 * The values of the options of `serve`. `publicUrl` has no slash at its end, `poll` and `grace` are in milliseconds,
 * `trustProxy` in hops.
 */
export interface ServeOptions extends StoreOptions, StateOptions, VerifyKeyOptions {
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string;
  readonly metricsPort: number | "off";
  readonly metricsHost: string;
  readonly poll: number;
  readonly grace: number;
  readonly trustProxy: number;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly cacheMb: number;
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly plans?: string;
  readonly logLevel: LogLevel;
  readonly logRequests: RequestLog;
}

/** The options of `serve`. `demo` also has them. */
export const serveOptions = (): Option[] => [
  ...storeOptions(),
  stateOption(),
  createOption("--host <address>", "address to listen on", host).default("127.0.0.1"),
  createOption("--port <port>", "port to listen on; 0: any free port", port).default(8080),
  createOption(
    "--public-url <url>",
    "address at which callers reach the service, with its prefix: all addresses in answers are below it (default: where it listens)",
    publicUrl,
  ),
  createOption(
    "--metrics-port <port>",
    "port of /metrics; 0: any free port; off: no metrics",
    metricsPort,
  ).default(9464),
  createOption(
    "--metrics-host <address>",
    "address of /metrics, which has no authentication",
    host,
  ).default("127.0.0.1"),
  createOption(
    "--poll <duration>",
    "how often to look for a new publication",
    durationMs("s", 10, HOUR_MS),
  ).default(2_000, "2s"),
  createOption(
    "--grace <duration>",
    "how late a session may be before it counts as overdue",
    durationMs("m", 0, 12 * HOUR_MS),
  ).default(HOUR_MS, "60m"),
  createOption(
    "--trust-proxy <hops>",
    "number of your own proxies in front; chipboard trusts their X-Forwarded-For",
    hops,
  ).default(0),
  createOption(
    "--tls-cert <file>",
    "certificate and its chain (PEM); serve HTTPS; SIGHUP reads it again",
  ),
  createOption("--tls-key <file>", "private key (PEM) of the certificate"),
  createOption(
    "--cache-mb <megabytes>",
    "memory for files, an eighth of it for old snapshots; other files are streamed from the store",
    megabytes,
  ).default(256),
  createOption(
    "--max-connections <number>",
    "connections open at once; further ones are closed, the last tenth is for networks without one",
    connections,
  ).default(CONNECTIONS_MAX),
  createOption(
    "--max-connections-per-address <number>",
    "connections open at once from one address (IPv6: one /64; twice as many from one /56); further ones are closed; off with --trust-proxy above 0",
    connections,
  ).default(CONNECTIONS_PER_ADDRESS),
  createOption(
    "--plans <file>",
    "your own prices, support, contact and terms, for /plans and /openapi.json (JSON); off: none",
  ),
  createOption(
    "--log-level <level>",
    "what to log on standard error: silent, error, warn or info",
    oneOf(LOG_LEVELS),
  ).default("info"),
  createOption(
    "--log-requests <which>",
    "requests to log: all, problems (those answered with a problem), or none",
    oneOf(REQUEST_LOGS),
  ).default("problems"),
  jsonOption(),
];

export const host = textThat(
  (text) => text.trim() !== "",
  "expected an address such as 127.0.0.1 or 0.0.0.0",
);
/** Without a slash at its end. */
export const publicUrl = parsedBy((text) => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const { origin, pathname } = url;
  return url.href === origin + pathname ? `${origin}${pathname}`.replace(/\/+$/, "") : null;
}, "expected an address such as https://prices.example or https://example.com/prices");
export const port = wholeNumber("expected a port, 0 to 65535", 0, 65_535);
const portOrOff = wholeNumber("expected a port, 0 to 65535, or off", 0, 65_535);
const metricsPort = (text: string): number | "off" => (text === "off" ? text : portOrOff(text));
export const hops = wholeNumber("expected a number of proxies, 0 to 100", 0, 100);
const connections = wholeNumber("expected a number of connections, 1 to 100000", 1, 100_000);
const megabytes = wholeNumber("expected a number of megabytes, 0 to 999999", 0, 999_999);
