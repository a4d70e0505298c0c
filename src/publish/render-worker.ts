/** The script of the second thread; render-thread.ts talks to it. */
import { parentPort, type MessagePort } from "node:worker_threads";
import { renderJobs } from "./render-order.ts";
import { Rendering } from "./rendering.ts";
import type { Answer, Question } from "./render-thread.ts";

const port = parentPort as MessagePort;
let rendering = new Rendering([], 0);

port.on("message", (question: Question) => {
  // A failure ends the thread, and the publish with it.
  void answer(question);
});

async function answer(question: Question): Promise<void> {
  if ("order" in question) {
    rendering = new Rendering(renderJobs(question.order).jobs, question.keptBytesMax);
    const rendered = await rendering.run(question.drawn, () => {});
    tell({ rendered }, []);
  } else {
    const { number } = question;
    const bytes = ownMemory(rendering.takeKept(number) ?? (await rendering.render(number)));
    tell({ number, bytes }, [bytes.buffer]);
  }
}

const tell = (answer: Answer, moved: readonly ArrayBuffer[]): void =>
  port.postMessage(answer, [...moved]);

/** The bytes in memory that holds nothing else, so that it can be handed over. */
function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}
