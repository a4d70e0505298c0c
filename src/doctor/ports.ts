/** Whether `serve` can have its ports, or has them already, and whether callers reach it by its public address. */
import { createServer } from "node:http";
import type { AgentOptions } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { ChipboardError, UnreachableError } from "../lib/errors.ts";
import { agentFor, get } from "../lib/http-get.ts";
import { LOOKED_AT_BYTES_MAX } from "../lib/limits.ts";
import { listen } from "../hosts/node/server.ts";
import { faultOf, note, notWatched, ok, orFailure, type Finding } from "./checks.ts";

const PATIENCE_MS = 5_000;
/** A proxy that restarts answers again after that. */
const RESTART_MS = 2_000;
// The certificate has a check of its own.
const ANY_CERTIFICATE: AgentOptions = { rejectUnauthorized: false };

const START = "systemctl start chipboard.socket chipboard.service, or chipboard serve";
const READ_LOG = "journalctl --unit chipboard, or the log of serve, says why it does not answer";

/** Asks `/readyz` as callers would. `publicUrl` null: the option is not given. */
export async function checkPublic(publicUrl: string | null): Promise<Finding> {
  if (publicUrl === null) return notWatched("public", "--public-url");
  const answer = await askReadiness(publicUrl);
  return answer instanceof ChipboardError
    ? faultOf("public", answer, `${READ_LOG}; then look at DNS, firewall and front proxy`)
    : ok("public", `${publicUrl} answers: ${answer}`);
}

/** The port of a proxy. */
export interface ProxyPort {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly isTls: boolean;
  /** The address that systemd keeps open in place of host and port; null: none. */
  readonly socket: string | null;
  /** Whether the public address answers. */
  readonly isReached: boolean;
}

/** A free port is opened for a moment. */
export async function checkProxyPort(asked: ProxyPort): Promise<Finding> {
  const { host, port, isTls, socket, isReached } = asked;
  if (socket !== null) {
    const answer = await askReadiness(`${isTls ? "https" : "http"}://${socket}`);
    return answer instanceof ChipboardError
      ? faultOf("port", answer, `systemd holds ${socket} for the proxy: ${READ_LOG}`)
      : ok("port", `systemd holds ${socket}, and the proxy there ${answer}`);
  }
  if (port === 0) return ok("port", "any free port");
  const failure = await tryPort("port", host, port);
  const place = `${host}:${port}`;
  if (failure === null) {
    if (isReached) {
      return note("port", `${place} is free; the proxy that answers has another address`);
    }
    const error = new UnreachableError(`${place} is free: no proxy runs there`);
    return faultOf("port", error, START);
  }
  if (!(failure instanceof UnreachableError)) return refusedPort("port", failure);
  const answer = await askReadiness(`${isTls ? "https" : "http"}://${reachable(host)}:${port}`);
  if (!(answer instanceof ChipboardError)) {
    return ok("port", `${place} is held by chipboard itself, which ${answer}`);
  }
  if (answer instanceof NotReadyError) {
    return faultOf("port", answer, `${READ_LOG}; where nothing was published before, publish`);
  }
  return faultOf("port", failure, "end the other program (ss -ltnp), or choose another --port");
}

/** `port` null: there is none. A free port is opened for a moment. */
export async function checkMetricsPort(host: string, port: number | null): Promise<Finding> {
  const check = "metrics-port";
  if (port === null) return ok(check, "off");
  if (port === 0) return ok(check, "any free port");
  const failure = await tryPort(check, host, port);
  if (failure === null) return note(check, `${host}:${port} is free: no proxy runs there`, START);
  if (!(failure instanceof UnreachableError)) return refusedPort(check, failure);
  const answer = await ask(`http://${reachable(host)}:${port}/metrics`);
  const version = answer instanceof ChipboardError ? null : versionIn(answer.body);
  if (version !== null) {
    return ok(check, `${host}:${port} is held by chipboard itself, version ${version}`);
  }
  return faultOf(check, failure, `end the other program (ss -ltnp), or choose another --${check}`);
}

const refusedPort = (check: "port" | "metrics-port", failure: ChipboardError): Finding =>
  faultOf(check, failure, "name an address of this machine and a port that this user may have");

/** The error of opening the port; null: it is free. */
async function tryPort(
  check: "port" | "metrics-port",
  host: string,
  port: number,
): Promise<ChipboardError | null> {
  const server = createServer();
  const failure = await orFailure(() => listen(server, `--${check}`, host, port));
  if (failure instanceof ChipboardError) return failure;
  await new Promise((resolve) => server.close(resolve));
  return null;
}

class NotReadyError extends UnreachableError {}

/** What the proxy at `base` serves, in words; an error if no proxy of chipboard answers two requests, or if it is not ready. */
async function askReadiness(base: string): Promise<string | ChipboardError> {
  const url = `${base}/readyz`;
  let answer = await ask(url);
  if (answer instanceof UnreachableError) {
    await pause(RESTART_MS);
    answer = await ask(url);
  }
  if (answer instanceof ChipboardError) return answer;
  const { status, snapshot, code, detail } = membersIn(answer.body);
  if (status === "ready") return `serves ${String(snapshot)}`;
  if (code === "no_session") {
    return new NotReadyError(`${url}: the proxy has no snapshot: ${String(detail)}`);
  }
  return new UnreachableError(`${url} answers ${answer.status}, and not as a proxy of chipboard`);
}

async function ask(url: string): Promise<{ status: number; body: string } | ChipboardError> {
  const agent = agentFor(url, 1, ANY_CERTIFICATE);
  const asked = { agent, headers: {}, maxBytes: LOOKED_AT_BYTES_MAX, timeoutMs: PATIENCE_MS };
  const answer = await orFailure(() => get(url, asked));
  agent.destroy();
  if (answer instanceof ChipboardError) return answer;
  return { status: answer.status, body: answer.body.toString("utf8") };
}

/** An address of this machine at which a listener on `host` is reached. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

function membersIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function versionIn(body: string): string | null {
  const [, version] = /^chipboard_build_info\{version="([^"]*)"\}/m.exec(body) ?? [];
  return version ?? null;
}
