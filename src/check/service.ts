/**
 * Reads from a service that may be anybody's: each answer has a largest size, each request and the whole
 * check a time. Answers come without a content coding.
 */
import { once } from "node:events";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { DamageError, errorCode, reasonOf, UnreachableError } from "../lib/errors.ts";
import { cut } from "../lib/text.ts";
import { digestField, sha256Hex } from "../snapshot/digest.ts";

const REQUEST_MS = 60_000;
const CHECK_MS = 15 * 60_000;
const CONNECTIONS = 8;
/** A refusal is short. One that is read as JSON can take fifty times its size in memory. */
const REFUSAL_BYTES_MAX = 60_000;
/** What a gateway or a busy service says. */
const AWAY = [429, 502, 503, 504];

export interface Answer {
  /** For messages: `GET http://…`. */
  readonly what: string;
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** The service at one address, read with one key or none. */
export class Service {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #send: typeof httpRequest;
  readonly #agent: HttpAgent;
  readonly #ended = AbortSignal.timeout(CHECK_MS);

  /** Whether the requests carry a key. */
  readonly hasKey: boolean;

  /** `base` has no slash at its end. */
  constructor(base: string, key: string | null) {
    this.#base = base;
    this.hasKey = key !== null;
    this.#headers = {
      "accept-encoding": "identity",
      ...(key !== null && { authorization: `Bearer ${key}` }),
    };
    const isSecure = base.startsWith("https:");
    const settings = { keepAlive: true, maxSockets: CONNECTIONS };
    this.#agent = isSecure ? new HttpsAgent(settings) : new HttpAgent(settings);
    this.#send = isSecure ? httpsRequest : httpRequest;
  }

  /** Where the path is, for messages. */
  at(path: string): string {
    return this.#base + path;
  }

  /**
   * The answer. Throws DamageError if what comes is no answer, is coded, has more than `maxBytes`, or not
   * the digest that comes with it; UnreachableError if none comes.
   */
  async get(path: string, maxBytes: number): Promise<Answer> {
    const what = `GET ${this.at(path)}`;
    const signal = AbortSignal.any([this.#ended, AbortSignal.timeout(REQUEST_MS)]);
    const options = { agent: this.#agent, headers: this.#headers, signal };
    const request = this.#send(this.at(path), options);
    // Of a body that is not HTTP, the request gets the reason, and the response that it was aborted.
    let failure: unknown = null;
    request.on("error", (error) => (failure ??= error));
    request.on("upgrade", (_answer, socket) => {
      socket.destroy();
      request.emit("error", new DamageError(`${what} changes the protocol`));
    });
    try {
      request.end();
      const [response] = (await once(request, "response")) as [IncomingMessage];
      return await wholeAnswer(response, what, maxBytes);
    } catch (error) {
      if (error instanceof DamageError) throw error;
      // The service may close an idle connection in the moment in which it is used again.
      const isStale = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(errorCode(failure));
      if (isStale) return this.get(path, maxBytes);
      throw this.#explained(failure ?? error, what, signal);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #explained(cause: unknown, what: string, { aborted: isLate }: AbortSignal): Error {
    if (errorCode(cause).startsWith("HPE_")) {
      return new DamageError(`${what}: what comes is not HTTP: ${reasonOf(cause)}`);
    }
    let reason = reasonOf(cause).trim();
    // If Node tried several addresses, its error has a code alone.
    if (reason === "") reason = errorCode(cause);
    if (reason === "aborted") reason = "the connection ended before the answer";
    if (isLate) reason = `no whole answer in ${REQUEST_MS / 1_000} s`;
    if (this.#ended.aborted) reason = `the check takes more than ${CHECK_MS / 60_000} minutes`;
    return new UnreachableError(`${what}: ${reason}`, [], { cause });
  }
}

async function wholeAnswer(
  response: IncomingMessage,
  what: string,
  maxBytes: number,
): Promise<Answer> {
  const { statusCode: status = 0, headers } = response;
  const bytesMax = status === 200 ? maxBytes : Math.min(maxBytes, REFUSAL_BYTES_MAX);
  const pieces: Buffer[] = [];
  let sizeBytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece);
    sizeBytes += piece.length;
    if (sizeBytes > bytesMax) throw new DamageError(`${what} sends more than ${bytesMax} bytes`);
  }
  const coding = headers["content-encoding"] ?? "identity";
  if (coding !== "identity") {
    throw new DamageError(`${what} answers with the content coding ${coding}, expected none`);
  }
  const body = Buffer.concat(pieces);
  const sha256 = sha256Hex(body);
  // Refusals have no digest.
  if (![undefined, digestField(sha256)].includes(headers["unencoded-digest"] as string)) {
    throw new DamageError(
      `${what}: the answer has the SHA-256 ${sha256}, which is not that of its unencoded-digest`,
    );
  }
  return { what, status, headers, body };
}

/** The refusal that the answer is; null: it is no problem document (RFC 9457) that says the answer's status. */
export function refusalOf(answer: Answer): { readonly code: string; readonly text: string } | null {
  const { status, headers, body } = answer;
  if (status < 400 || headers["content-type"] !== "application/problem+json") return null;
  try {
    const { status: told, code, detail } = JSON.parse(body.toString("utf8"));
    if (told !== status || typeof code !== "string") return null;
    return { code, text: cut(`${status} ${code}: ${detail}`, 300) };
  } catch {
    return null;
  }
}

export function unexpected(answer: Answer, expected: string): Error {
  const { status, what } = answer;
  const refusal = refusalOf(answer);
  const message = `${what} answers ${refusal?.text ?? status}; expected ${expected}`;
  const isAway = AWAY.includes(status) || (status === 500 && refusal !== null);
  return isAway ? new UnreachableError(message) : new DamageError(message);
}
