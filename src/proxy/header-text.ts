/**
 * Header fields as they are on the wire, made once and sent over and over. Node's `writeHead` checks
 * and joins fifteen fields for each answer, a tenth of what answering costs; here that is done when
 * a file is prepared.
 */
import { STATUS_CODES, validateHeaderValue, type ServerResponse } from "node:http";
import { machineNowMs } from "../clock.ts";

/** Fields by name, in lower case, in the order in which they are sent. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Lines `name: value`, each with its line break (RFC 9112, 2.1). */
export type HeaderText = string;

/** Throws a TypeError for a value that cannot be in a header (RFC 9110, 5.5). */
export function headerText(fields: HeaderFields): HeaderText {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    validateHeaderValue(name, value);
    text += `${name}: ${value}\r\n`;
  }
  return text;
}

/** The fields of a text, for those who take them one by one. */
export const headerPairs = (text: HeaderText): [name: string, value: string][] =>
  text
    .split("\r\n")
    .slice(0, -1)
    .map((line) => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    });

/** Of a response of Node's: the header, made by `writeHead` and sent with the first of the body. */
type WithHeader = ServerResponse & { _header: string | null };

/** A field that no documentation promises: used where it is what it has been since Node 0.1. */
const canTakeHeader = (response: ServerResponse): response is WithHeader =>
  (response as Partial<WithHeader>)._header === null;

let date = { second: -1, line: "" };

/** RFC 9110, 6.6.1: the machine's time, whatever clock the data goes by. */
function dateLine(): string {
  const nowMs = machineNowMs();
  const second = Math.floor(nowMs / 1000);
  if (date.second !== second) date = { second, line: `Date: ${new Date(nowMs).toUTCString()}\r\n` };
  return date.line;
}

/** What Node adds by itself: the date, and how long the connection is kept. */
export const keptOpen = (keepAliveMs: number): string =>
  `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`;

/** `HTTP/1.1 200 OK`, with its line break, by status. */
const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, text]) => [
    Number(status),
    `HTTP/1.1 ${status} ${text}\r\n`,
  ]),
);

/**
 * The same as `writeHead`, which is used where the connection ends with this answer.
 * `keptOpenLines` of `keptOpen`.
 */
export function writeHeader(
  response: ServerResponse,
  status: number,
  header: HeaderText,
  keptOpenLines: string,
): void {
  if (response.shouldKeepAlive && canTakeHeader(response)) {
    response.statusCode = status;
    response._header = (STATUS_LINES.get(status) as string) + header + dateLine() + keptOpenLines;
  } else {
    response.writeHead(status, headerPairs(header).flat());
  }
}
