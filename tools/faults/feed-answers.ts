/** Feeds over HTTP: cut off, with or without a length, with any status. Publish reads all or refuses. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { Complaints } from "../../src/feed/complaints.ts";
import { sourceOf } from "../../src/feed/source.ts";
import { readText } from "../../src/feed/text-reader.ts";
import { InputError } from "../../src/lib/errors.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";
import { FeedRandom } from "./feed-random.ts";
import { PLAIN_WRITING, validTable, written } from "./feed-table.ts";

const TEXT = written(validTable("quotes"), "csv", PLAIN_WRITING).trimEnd();
const STATUSES = [200, 200, 200, 200, 203, 206, 301, 404, 500];

interface Answer {
  readonly bytes: Buffer;
  readonly story: string;
  /** Whether it carries all of TEXT and lets the reader know that it is complete. */
  readonly isWhole: boolean;
}

/** Fetches `count` answers from a server of its own. */
export async function fetchAnswers({ seed, say }: FaultOptions, count: number): Promise<FaultRow> {
  const fault = "feeds over HTTP";
  const random = new FeedRandom(seed, fault);
  const tally = new Tally(fault, say);
  let bytes: Buffer = Buffer.alloc(0);
  const server = createServer((socket) => {
    // A client that refuses an answer closes the connection.
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(bytes));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  for (let number = 0; number < count; number += 1) {
    const answer = answerOf(random);
    ({ bytes } = answer);
    await tally.inject(`seed ${seed}, number ${number}: ${answer.story}`, () =>
      fetchOne(`http://127.0.0.1:${port}/quotes.csv?key=secret`, answer),
    );
  }
  server.close();
  return tally.row;
}

async function fetchOne(address: string, { isWhole }: Answer): Promise<void> {
  const complaints = new Complaints();
  let text = "";
  let refusal = "";
  try {
    for await (const chunk of readText(sourceOf(address), complaints)) text += chunk;
    complaints.raise();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    refusal = error.message;
    assert.ok(!refusal.includes("secret"), refusal);
  }
  assert.equal(refusal === "", isWhole, refusal);
  if (isWhole) assert.equal(text, TEXT);
}

function answerOf(random: FeedRandom): Answer {
  const status = random.pick(STATUSES);
  const framing = random.pick(["length", "chunked", "nothing"]);
  const isPacked = random.oneIn(3);
  const body = isPacked ? gzipSync(TEXT) : Buffer.from(TEXT);
  const head = [
    `HTTP/1.1 ${status} Status`,
    ...(isPacked ? ["content-encoding: gzip"] : []),
    ...(framing === "length" ? [`content-length: ${body.length}`] : []),
    ...(framing === "chunked" ? ["transfer-encoding: chunked"] : []),
    "connection: close\r\n\r\n",
  ].join("\r\n");
  const sent = framing === "chunked" ? chunked(body, random) : body;
  const isCut = random.oneIn(2);
  const length = isCut ? random.below(sent.length) : sent.length;
  return {
    bytes: Buffer.concat([Buffer.from(head), sent.subarray(0, length)]),
    story: `${status}, ${framing}${isPacked ? ", gzip" : ""}, ${length} of ${sent.length} bytes`,
    isWhole: status === 200 && framing !== "nothing" && !isCut,
  };
}

function chunked(body: Buffer, random: FeedRandom): Buffer {
  const at = 1 + random.below(body.length - 1);
  const chunks = [body.subarray(0, at), body.subarray(at)].flatMap((part) => [
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...chunks, Buffer.from("0\r\n\r\n")]);
}
