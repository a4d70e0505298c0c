/** How an answer becomes bytes on a connection: the header, and the body. */
import type { ServerResponse } from "node:http";
import { NOTHING_HELD, type Answer } from "../../core/answer.ts";
import type { Body } from "../../core/outcome.ts";
import { PIECE_BYTES, type Backlog } from "./backlog.ts";
import { prepareHead } from "./head.ts";

/** Sends an answer. A promise resolves when it is handed over. */
export function respond(
  response: ServerResponse,
  answer: Answer,
  backlog: Backlog,
): void | Promise<void> {
  const { method } = response.req;
  const { body, done } = answer;
  if (done !== NOTHING_HELD) whenSent(response, done);
  prepareHead(response, answer);
  if (body === null || method === "HEAD") response.end();
  else if (body instanceof Uint8Array && body.length <= PIECE_BYTES)
    response.end(latin1Of(body), "latin1");
  else return stream(response, body, backlog).then(() => backlog.wait(response));
  backlog.wait(response);
}

/** Calls `then` once, when the answer is sent or its connection is closed. */
function whenSent(response: ServerResponse, then: () => void): void {
  const { socket } = response.req;
  const done = (): void => {
    socket.off("close", done);
    response.off("close", done);
    then();
  };
  if (socket.destroyed || response.destroyed) return then();
  // An answer that waits behind another one hears nothing of the end of its connection.
  socket.on("close", done);
  response.on("close", done);
}

/**
 * The bytes as text, each a character. Node writes header and text at once, and header and bytes as two pieces,
 * which takes a fifth of an answer's time. It is made once for bytes that are sent again.
 */
function latin1Of(body: Uint8Array): string {
  let text = texts.get(body);
  if (text === undefined) {
    text = Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
    texts.set(body, text);
  }
  return text;
}

const texts = new WeakMap<Uint8Array, string>();

/**
 * Writes a large body as fast as the client takes it. A client may leave before its end. A body that fails ends the
 * connection before its content-length, so that nobody takes a part for the whole; its opener has told of the failure.
 */
async function stream(response: ServerResponse, body: Body, backlog: Backlog): Promise<void> {
  if (response.destroyed && body instanceof ReadableStream) return body.cancel();
  try {
    for await (const piece of backlog.pieces(body, response.req)) {
      if (!response.write(piece)) await drained(response);
      if (response.destroyed) return;
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/** Resolves when the client has taken the written bytes, or has left. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      response.req.socket.off("close", done);
      resolve();
    };
    response.once("drain", done).once("close", done);
    // An answer that waits behind another one hears nothing of the end of its connection.
    response.req.socket.once("close", done);
  });
