/** Reads answers from a socket, and checks that two servers send the same answer. */
import { once } from "node:events";
import { connect } from "node:net";

export interface Answer {
  readonly status: number;
  /** Header fields with their names as sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Header and body together. */
  readonly sizeBytes: number;
}

export type Fields = Readonly<Record<string, string>>;

/** GETs `url` on a connection of its own and keeps every byte. The answer must have a length. */
export async function rawGet(url: string, fields: Fields): Promise<Answer> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const lines = Object.entries({ host, ...fields }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`);
  let received = Buffer.alloc(0);
  for await (const piece of socket) {
    received = Buffer.concat([received, piece as Buffer]);
    const answer = parseAnswer(received);
    if (answer !== null) return answer;
  }
  throw new Error(`${url}: the connection ended before the answer did`);
}

/** Fields that belong to the connection or to the server's name, not to the answer. */
const SERVERS_OWN: ReadonlySet<string> = new Set(["date", "connection", "keep-alive", "server"]);

/** The header fields that the other servers must send, in this order. */
export const repeatable = ({ headers }: Answer): Answer["headers"] =>
  headers.filter(([name]) => !SERVERS_OWN.has(name.toLowerCase()));

/**
 * Throws unless `other`, of the server `name`, has the status, the bytes and the header fields of
 * `reference`. What remains of a quota, and the id of the request, may differ.
 */
export function requireSame(name: string, other: Answer, reference: Answer): void {
  const fail = (what: string, found: unknown, expected: unknown): never => {
    throw new Error(`${name} sends ${what} ${JSON.stringify(found)}, not ${String(expected)}`);
  };
  if (other.status !== reference.status) fail("status", other.status, reference.status);
  if (!other.body.equals(reference.body)) {
    fail("other bytes:", other.body.length, reference.body.length);
  }
  const found = fieldLines(other);
  const expected = fieldLines(reference);
  if (found !== expected) fail("the header", found, expected);
}

const OF_ONE_REQUEST: ReadonlySet<string> = new Set(["x-ratelimit-remaining", "x-request-id"]);

const fieldLines = (answer: Answer): string =>
  repeatable(answer)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .map(([name, value]) => `${name}: ${OF_ONE_REQUEST.has(name) ? "" : value}`)
    .sort()
    .join("\n");

function parseAnswer(received: Buffer): Answer | null {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const [statusLine = "", ...lines] = received.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const length = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  if (length === undefined && status !== 304) throw new Error("An answer has no length");
  const sizeBytes = headEnd + 4 + (status === 304 ? 0 : Number(length));
  if (received.length < sizeBytes) return null;
  return { status, headers, body: received.subarray(headEnd + 4, sizeBytes), sizeBytes };
}
