/** Whether `serve` can have its ports, or has them already. */
import { Agent as HttpAgent, createServer } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { ChipboardError, UnreachableError } from "../lib/errors.ts";
import { get } from "../lib/http-get.ts";
import { listen } from "../hosts/node/server.ts";
import { faultOf, note, ok, orFailure, type Finding } from "./checks.ts";

const PATIENCE_MS = 3_000;
const ANSWER_BYTES_MAX = 1_000_000;

/** `port` null: there is none. A free port is opened for a moment. */
export async function checkPort(
  check: "port" | "metrics-port",
  host: string,
  port: number | null,
  isTls: boolean,
): Promise<Finding> {
  if (port === null) return ok(check, "off");
  if (port === 0) return ok(check, "any free port");
  const server = createServer();
  const failure = await orFailure(() => listen(server, `--${check}`, host, port));
  if (!(failure instanceof ChipboardError)) {
    await new Promise((resolve) => server.close(resolve));
    return note(check, `${host}:${port} is free: no proxy runs there`, "start serve");
  }
  if (!(failure instanceof UnreachableError)) {
    return faultOf(
      check,
      failure,
      `name an address of this machine and a port that this user may have`,
    );
  }
  const holder = await holderOf(check, host, port, isTls);
  if (holder !== null) return ok(check, `${host}:${port} is held by chipboard itself, ${holder}`);
  return faultOf(check, failure, `end the other program (ss -ltnp), or choose another --${check}`);
}

/** What the program at the port says if it is a proxy of ours; null: it is another one. */
async function holderOf(
  check: "port" | "metrics-port",
  host: string,
  port: number,
  isTls: boolean,
): Promise<string | null> {
  // The certificate names the public host, not this address.
  const agent = isTls ? new HttpsAgent({ rejectUnauthorized: false }) : new HttpAgent();
  const path = check === "port" ? "readyz" : "metrics";
  const asked = { agent, headers: {}, maxBytes: ANSWER_BYTES_MAX, timeoutMs: PATIENCE_MS };
  const url = `${isTls ? "https" : "http"}://${reachable(host)}:${port}/${path}`;
  const answer = await orFailure(() => get(url, asked));
  agent.destroy();
  if (answer instanceof ChipboardError) return null;
  const body = answer.body.toString("utf8");
  return check === "port" ? readinessIn(body) : versionIn(body);
}

/** An address of this machine at which a listener on `host` is reached. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

function readinessIn(body: string): string | null {
  try {
    const { status, snapshot, code } = JSON.parse(body) as Readonly<Record<string, unknown>>;
    if (status === "ready") return `which serves ${String(snapshot)}`;
    return code === "no_session" ? "which has no snapshot yet" : null;
  } catch {
    return null;
  }
}

function versionIn(body: string): string | null {
  const [, version] = /^chipboard_build_info\{version="([^"]*)"\}/m.exec(body) ?? [];
  return version === undefined ? null : `version ${version}`;
}
