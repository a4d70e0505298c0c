/** Reads from a service that may be anybody's, for one check. Answers come without a content coding. */
import { CHECK_CONNECTIONS, CHECK_MS, CHECKED_ANSWER_MS } from "../lib/limits.ts";
import type { Agent } from "node:http";
import { DamageError, UnreachableError } from "../lib/errors.ts";
import { agentFor, get, type HttpAnswer } from "../lib/http-get.ts";
import { cut } from "../lib/text.ts";
import { digestField } from "../core/serve/entity.ts";
import { sha256Hex } from "../snapshot/digest.ts";

/** What a gateway or a busy service says. */
const AWAY = [429, 502, 503, 504];

export interface ServiceAnswer extends HttpAnswer {
  /** For messages: `GET http://…`. */
  readonly what: string;
}

/** The service at one address, read with one key or none. */
export class UntrustedService {
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #agent: Agent;
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
    this.#agent = agentFor(base, CHECK_CONNECTIONS);
  }

  /** Where the path is, for messages. */
  at(path: string): string {
    return this.#base + path;
  }

  /**
   * The answer. Throws DamageError if the reply is no HTTP answer, is coded, has more than `maxBytes`, or not
   * the digest that comes with it; UnreachableError if none comes.
   */
  async get(path: string, maxBytes: number): Promise<ServiceAnswer> {
    const what = `GET ${this.at(path)}`;
    const answer = await this.#answer(path, maxBytes, what);
    const coding = answer.headers["content-encoding"] ?? "identity";
    if (coding !== "identity") {
      throw new DamageError(`${what} answers with the content coding ${coding}, expected none`);
    }
    const sha256 = sha256Hex(answer.body);
    // Refusals have no digest.
    const digest = answer.headers["unencoded-digest"] as string;
    if (![undefined, digestField(sha256)].includes(digest)) {
      throw new DamageError(
        `${what}: the answer has the SHA-256 ${sha256}, but its unencoded-digest names another`,
      );
    }
    return { what, ...answer };
  }

  close(): void {
    this.#agent.destroy();
  }

  async #answer(path: string, maxBytes: number, what: string): Promise<HttpAnswer> {
    const agent = this.#agent;
    const headers = this.#headers;
    const signal = this.#ended;
    try {
      return await get(this.at(path), {
        agent,
        headers,
        maxBytes,
        timeoutMs: CHECKED_ANSWER_MS,
        signal,
      });
    } catch (cause) {
      if (cause instanceof DamageError || !signal.aborted) throw cause;
      const reason = `the check takes more than ${CHECK_MS / 60_000} minutes`;
      throw new UnreachableError(`${what}: ${reason}`, [], { cause });
    }
  }
}

/** The refusal that the answer is; null: it is no problem document (RFC 9457) that says the answer's status. */
export function refusalOf(
  answer: ServiceAnswer,
): { readonly code: string; readonly text: string } | null {
  const { status, headers, body } = answer;
  if (status < 400 || headers["content-type"] !== "application/problem+json") return null;
  try {
    const { status: statusInBody, code, detail } = JSON.parse(body.toString("utf8"));
    if (statusInBody !== status || typeof code !== "string") return null;
    return { code, text: cut(`${status} ${code}: ${detail}`, 300) };
  } catch {
    return null;
  }
}

export function unexpectedAnswer(answer: ServiceAnswer, expected: string): Error {
  const { status, what } = answer;
  const refusal = refusalOf(answer);
  const message = `${what} answers ${refusal?.text ?? status}; expected ${expected}`;
  const isAway = AWAY.includes(status) || (status === 500 && refusal !== null);
  return isAway ? new UnreachableError(message) : new DamageError(message);
}
