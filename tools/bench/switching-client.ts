/**
 * A load that records every answer: 64 connections, each of which sends its next request as soon as it is
 * answered, until standard input ends. It prints the name of each new snapshot that answers come
 * from. Arguments: URL, key, and the file for the records: 64-bit floats, three an answer: when it
 * was whole (epoch milliseconds), how long it took (milliseconds), and which of the snapshots, in
 * the order of their appearance, it came from.
 */
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { CONNECTIONS } from "./wrk.ts";

const [url = "", key = "", recordsFile = ""] = process.argv.slice(2);
const { hostname, port, host, pathname } = new URL(url);
const request = `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\naccept-encoding: gzip\r\nauthorization: Bearer ${key}\r\n\r\n`;

/** Grows in blocks, so that no record waits while others are copied. */
const BLOCK = 300_000;
const blocks: Float64Array[] = [];
let filled = BLOCK;
const snapshots: string[] = [];
let isOver = false;

process.stdin.resume().on("end", () => {
  isOver = true;
  const last = blocks.at(-1);
  if (last === undefined) throw new Error("There was no answer");
  blocks[blocks.length - 1] = last.subarray(0, filled);
  writeFileSync(recordsFile, Buffer.concat(blocks.map((block) => bytesOf(block))));
  process.exit();
});
for (let count = 0; count < CONNECTIONS; count += 1) ask();

function ask(): void {
  const socket = connect(Number(port), hostname);
  let askedAt = 0;
  /** Bytes of the answer that are still to come; null before its header. */
  let missing: number | null = null;
  let snapshot = 0;
  const send = (): void => {
    askedAt = performance.now();
    missing = null;
    socket.write(request);
  };
  socket.setNoDelay(true).on("connect", send);
  socket.on("close", () => {
    if (!isOver) throw new Error("A connection was closed");
  });
  socket.on("data", (piece: Buffer) => {
    if (missing === null) {
      const header = readHeader(piece);
      snapshot = header.snapshot;
      missing = header.answerBytes;
    }
    missing -= piece.length;
    if (missing < 0) throw new Error("An answer is longer than it said");
    if (missing > 0) return;
    const now = performance.now();
    record(performance.timeOrigin + now, now - askedAt, snapshot);
    send();
  });
}

/** A header of these answers always fits into the first piece; one that does not is an error. */
function readHeader(piece: Buffer): { snapshot: number; answerBytes: number } {
  const end = piece.indexOf("\r\n\r\n");
  const header = piece.toString("latin1", 0, end);
  const length = /^content-length: (\d+)\r$/im.exec(header)?.[1];
  const text = /^x-snapshot: (.*)\r$/im.exec(header)?.[1];
  if (end === -1 || length === undefined || text === undefined || !/^HTTP\/1.1 200/.test(header)) {
    throw new Error(`Expected a 200, got ${header}`);
  }
  if (!snapshots.includes(text)) {
    snapshots.push(text);
    console.log(text);
  }
  return { snapshot: snapshots.indexOf(text), answerBytes: end + 4 + Number(length) };
}

function record(...values: readonly number[]): void {
  if (filled === BLOCK) {
    blocks.push(new Float64Array(BLOCK));
    filled = 0;
  }
  blocks.at(-1)?.set(values, filled);
  filled += values.length;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float64Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
