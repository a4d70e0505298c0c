/**
 * Puts answers on the socket. One that is there at once and whole, as nearly all are, is handed to
 * Node's HTTP server as it is; one that must be waited for or is a stream goes through h3, which
 * knows how to. Its router is left aside: it normalises paths, and here only the path as it was
 * sent counts (see routes.ts).
 */
import {
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { H3, type H3Event } from "h3";
import { toNodeHandler } from "h3/node";
import { FastResponse } from "srvx";
import type { MaybePromise } from "../state/gatekeeper.ts";
import { answer, internalProblem, type Answer, type AnswerOptions } from "./answer.ts";
import { chain } from "./chain.ts";
import { headerPairs, keptOpen, writeHeader, type HeaderText } from "./header-text.ts";

interface AppOptions extends AnswerOptions {
  /** A connection that takes nothing of its answer for so long is closed. */
  readonly stalledMs: number;
  /** An idle connection is kept open for so long. */
  readonly keepAliveMs: number;
}

/** The application, as a listener for the `request` event of a server of Node's. */
export function createApp(options: AppOptions): RequestListener {
  const { log, stalledMs } = options;
  const keptOpenLines = keptOpen(options.keepAliveMs);
  const awaited = new WeakMap<IncomingMessage, MaybePromise<Answer>>();
  const throughH3 = toNodeHandler(h3App(options, awaited));
  return (request, response) => {
    try {
      const answered = answer(options, request);
      const isSending = sendAtOnce(answered, request, response, keptOpenLines);
      // Nearly all answers fit what the system takes at once, and need no watch.
      if (!isSending || response.writableLength > 0) request.socket.setTimeout(stalledMs);
      if (isSending) return;
      awaited.set(request, answered);
      // Host decides nothing here, and one that is no host would make h3 fail on its URL.
      request.headers.host = "localhost";
      void throughH3(request, response);
    } catch (error) {
      log.error({ err: error }, "request cannot be handled");
      response.destroy();
    }
  };
}

function h3App(
  { log }: AnswerOptions,
  awaited: WeakMap<IncomingMessage, MaybePromise<Answer>>,
): H3 {
  const onError = (error: unknown): Response => {
    log.error({ err: error }, "request failed");
    return responseOf({ reply: internalProblem(), remaining: 0 }, undefined);
  };
  const handle = (event: H3Event): MaybePromise<Response> => {
    const request = event.runtime?.node?.req as IncomingMessage | undefined;
    const answered = request === undefined ? undefined : awaited.get(request);
    if (answered === undefined) throw new Error("A request came by without its answer");
    return chain(answered, (whole) => responseOf(whole, request?.method));
  };
  // Malformed escapes shall reach the handler: to a caller they are addresses that do not exist.
  return new H3({ allowMalformedURL: true, silent: true, onError }).all("/**", handle);
}

/** False where the answer is still to come, or comes in pieces. */
function sendAtOnce(
  answered: MaybePromise<Answer>,
  { method }: IncomingMessage,
  response: ServerResponse,
  keptOpenLines: string,
): boolean {
  if (answered instanceof Promise) return false;
  const { status, body } = answered.reply;
  if (body instanceof ReadableStream) return false;
  writeHeader(response, status, headersOf(answered), keptOpenLines);
  if (method === "HEAD" || body === null) response.end();
  else response.end(body, "latin1");
  return true;
}

function responseOf(answered: Answer, method: string | undefined): Response {
  const { status, body } = answered.reply;
  const headers = headerPairs(headersOf(answered));
  const statusText = STATUS_CODES[status] ?? "";
  const bytes = typeof body === "string" ? Buffer.from(body, "latin1") : body;
  return new FastResponse(method === "HEAD" ? null : bytes, { status, statusText, headers });
}

const headersOf = ({ reply, remaining }: Answer): HeaderText =>
  `${reply.headers}x-ratelimit-remaining: ${remaining}\r\n`;
