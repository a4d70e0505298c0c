/**
 * Writes the log to standard error. The service never waits for it: lines that cannot be written,
 * because the disk is full or nobody reads the pipe, are dropped and counted. Once writing works
 * again, a line says how many. (Only a terminal that its user stops also stops the service.)
 */
import { writeSync } from "node:fs";
import { Socket } from "node:net";

const BATCH_CHARACTERS = 8 * 1024;
const BATCH_MS = 250;
/** The most that waits in memory for the reader of a pipe. */
const WAITING_BYTES_MAX = 1024 * 1024;
const LINE_BREAK = 0x0a;

/** Collects lines and writes them together at 8 kB or after 250 ms. */
export class StandardError {
  readonly #noteOf: (dropped: number) => string;
  /** How many lines could not be written so far. */
  droppedLines = 0;
  /** Lines dropped since the log last reported a number. */
  #untold = 0;
  #held = "";
  #heldLines = 0;
  /** Whether the file ends in the middle of a line. */
  #isCut = false;

  /** `noteOf` makes the line that says how many lines were dropped. */
  constructor(noteOf: (dropped: number) => string) {
    this.#noteOf = noteOf;
    // Each write handles its own error; without a listener the process would end.
    process.stderr.on("error", () => undefined);
    process.on("exit", () => this.#flush());
    setInterval(() => this.#flush(), BATCH_MS).unref();
  }

  /** Takes one line, including its line break. */
  write(line: string): void {
    if (process.stderr.writableLength + this.#held.length + line.length > WAITING_BYTES_MAX) {
      this.#drop(1);
      return;
    }
    this.#held += line;
    this.#heldLines += 1;
    if (this.#held.length >= BATCH_CHARACTERS) this.#flush();
  }

  #drop(lines: number): void {
    this.droppedLines += lines;
    this.#untold += lines;
  }

  #flush(): void {
    const reported = process.stderr.writableLength < WAITING_BYTES_MAX / 2 ? this.#untold : 0;
    const lines = this.#heldLines;
    const text = (reported === 0 ? "" : this.#noteOf(reported)) + this.#held;
    if (text === "") return;
    this.#held = "";
    this.#heldLines = 0;
    this.#untold -= reported;
    const failed = (lost: number): void => {
      this.#drop(Math.min(lost, lines));
      // The note comes first, so it is lost only if all lines are lost.
      if (lost >= lines) this.#untold += reported;
    };
    if (process.stderr instanceof Socket) {
      process.stderr.write(text, (error) => {
        if (error != null) failed(lines);
      });
    } else {
      const total = lines + (reported === 0 ? 0 : 1);
      const written = this.#writeFile(text);
      if (written < total) failed(total - written);
    }
  }

  /** Returns how many lines were written completely. */
  #writeFile(text: string): number {
    const bytes = Buffer.from(this.#isCut ? `\n${text}` : text);
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(process.stderr.fd, bytes, at);
    } catch {
      // The lines that were not written are counted below.
    }
    const written = bytes.subarray(0, at);
    const lines = written.filter((byte) => byte === LINE_BREAK).length;
    const ended = this.#isCut && at > 0 ? 1 : 0;
    if (at > 0) this.#isCut = written.at(-1) !== LINE_BREAK;
    return lines - ended;
  }
}
