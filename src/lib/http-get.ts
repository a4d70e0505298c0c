/**
 * Reads from a service that may be anybody's: each answer has a largest size, and each request a time.
 * Node's `fetch` is not used, because its connections have no limit.
 */
import { REFUSAL_BYTES_MAX } from "./limits.ts";
import { once } from "node:events";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type AgentOptions } from "node:https";
import { outboundProxies } from "./config.ts";
import { DamageError, errorCode, reasonOf, UnreachableError } from "./errors.ts";
import { isLoopback } from "./key-address.ts";
import { USER_AGENT } from "./version.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** As sent, in its content coding. */
  readonly body: Buffer;
}

interface HttpRequest {
  /** GET by default. */
  readonly method?: "HEAD" | "POST";
  /** Of POST. */
  readonly content?: string;
  readonly agent: HttpAgent;
  readonly headers: Readonly<Record<string, string>>;
  /** For a body with status 200. */
  readonly maxBytes: number;
  /** For the whole answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the request. */
  readonly signal?: AbortSignal;
}

/**
 * Keeps at most so many connections to the service at `url`, through a proxy if the environment names one.
 * A key in plain HTTP must not leave the machine, so loopback is always asked directly.
 */
export function agentFor(url: string, connections: number, tls: AgentOptions = {}): HttpAgent {
  const proxies = isLoopback(new URL(url).hostname) ? null : { proxyEnv: outboundProxies() };
  const settings = { keepAlive: true, maxSockets: connections, ...proxies, ...tls };
  return url.startsWith("https:") ? new HttpsAgent(settings) : new HttpAgent(settings);
}

/**
 * The answer to GET, HEAD or POST; redirects are not followed. Throws DamageError if the reply is no HTTP answer or too
 * large; UnreachableError if none comes.
 */
export async function get(address: string, asked: HttpRequest): Promise<HttpAnswer> {
  const { agent, headers, maxBytes, timeoutMs, method = "GET", content } = asked;
  const what = `${method} ${address}`;
  const late = AbortSignal.timeout(timeoutMs);
  const signal = asked.signal === undefined ? late : AbortSignal.any([asked.signal, late]);
  const send = address.startsWith("https:") ? httpsRequest : httpRequest;
  const request = send(address, {
    method,
    agent,
    headers: { "user-agent": USER_AGENT, ...headers },
    signal,
  });
  // Of a body that is not HTTP, the request gets the reason, and the response that it was aborted.
  let failure: unknown = null;
  request.on("error", (error) => (failure ??= error));
  request.on("upgrade", (_answer, socket) => {
    socket.destroy();
    request.emit("error", new DamageError(`${what} changes the protocol`));
  });
  try {
    request.end(content);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const { statusCode: status = 0, headers: fields } = response;
    const bytesMax = status === 200 ? maxBytes : Math.min(maxBytes, REFUSAL_BYTES_MAX);
    return { status, headers: fields, body: await wholeBody(response, what, bytesMax) };
  } catch (error) {
    if (error instanceof DamageError) throw error;
    // The service may close an idle connection in the moment in which it is used again.
    const isStale = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(errorCode(failure));
    if (isStale) return get(address, asked);
    const isLate = late.aborted ? `no whole answer in ${timeoutMs / 1_000} s` : null;
    throw explain(failure ?? error, what, isLate);
  }
}

async function wholeBody(
  response: IncomingMessage,
  what: string,
  bytesMax: number,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes > bytesMax) throw new DamageError(`${what} sends more than ${bytesMax} bytes`);
  }
  return Buffer.concat(pieces);
}

function explain(cause: unknown, what: string, lateness: string | null): Error {
  if (errorCode(cause).startsWith("HPE_")) {
    return new DamageError(`${what}: the reply is not HTTP: ${reasonOf(cause)}`);
  }
  let reason = reasonOf(cause).trim();
  // If Node tried several addresses, its error has a code alone.
  if (reason === "") reason = errorCode(cause);
  if (reason === "aborted") reason = "the connection ended before the answer";
  return new UnreachableError(`${what}: ${lateness ?? reason}`, [], { cause });
}
