/** Sends one conversation over a raw socket and collects the answers. */
import { connect } from "node:net";
import { AnswerReader, type Answer } from "./caller-answers.ts";
import type { Conversation } from "./caller-conversations.ts";

/**
 * `answered`: every request was answered, and the caller left. `closed`: the proxy closed the
 * connection. `hanging`: neither happened in time. `refused`: nothing listens on the port.
 */
export type Ending = "answered" | "closed" | "hanging" | "refused";

export interface Heard {
  readonly answers: readonly Answer[];
  readonly ending: Ending;
  /** Set if the bytes received are not HTTP. */
  readonly error: string | null;
}

/** Never rejects. */
export function converse(
  port: number,
  { pieces, requests, ending }: Conversation,
  limitMs: number,
): Promise<Heard> {
  return new Promise((resolve) => {
    const reader = new AnswerReader((index) => requests?.[index]?.isHead === true);
    const socket = connect(port, "127.0.0.1");
    let error: string | null = null;
    let isRefused = false;
    const end = (how: Ending): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ answers: reader.answers, ending: how, error });
    };
    const timer = setTimeout(() => end("hanging"), limitMs);
    socket.on("data", (piece: Buffer) => {
      try {
        reader.push(piece);
      } catch (thrown) {
        error = String(thrown);
        end("closed");
        return;
      }
      const isComplete = reader.answers.length === requests?.length && reader.restBytes === 0;
      if (isComplete && ending === "stay") end("answered");
    });
    // `close` follows an error.
    socket.on("error", (thrown: NodeJS.ErrnoException) => {
      isRefused = thrown.code === "ECONNREFUSED";
    });
    socket.on("close", () => end(isRefused ? "refused" : "closed"));
    socket.setNoDelay(true);
    const write = (at: number): void => {
      const piece = pieces[at];
      if (piece !== undefined && !socket.destroyed) {
        socket.write(piece);
        setImmediate(write, at + 1);
      } else if (piece === undefined && ending === "close") {
        socket.end();
      }
    };
    socket.on("connect", () => write(0));
  });
}
