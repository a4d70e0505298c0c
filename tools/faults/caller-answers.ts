/** Reads HTTP answers from the bytes of a socket. */

export interface Answer {
  readonly status: number;
  /** By lower-case name. If a field is repeated, the last one counts. */
  readonly headers: ReadonlyMap<string, string>;
  /** As sent; empty if there is none. */
  readonly body: Buffer;
}

const HEADER_END = Buffer.from("\r\n\r\n");
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [ -~]*$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/** Reads answers (RFC 9112) from pieces of any size. Skips interim ones (1xx). */
export class AnswerReader {
  readonly answers: Answer[] = [];
  readonly #isHead: (index: number) => boolean;
  #rest: Buffer = Buffer.alloc(0);

  /** `isHead`: whether the answer with this index is one to HEAD, without a body. */
  constructor(isHead: (index: number) => boolean) {
    this.#isHead = isHead;
  }

  /** Bytes of an answer that is not complete yet. */
  get restBytes(): number {
    return this.#rest.length;
  }

  /** Throws if the bytes are not HTTP. */
  push(piece: Buffer): void {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (this.#next());
  }

  #next(): boolean {
    const end = this.#rest.indexOf(HEADER_END);
    if (end < 0) return false;
    const { status, headers } = readHead(this.#rest.toString("latin1", 0, end));
    const bodyAt = end + HEADER_END.length;
    const isInterim = status < 200;
    const hasBody = !(isInterim || status === 204 || status === 304);
    const length = hasBody ? lengthOf(headers) : 0;
    const bodyEnd = bodyAt + (this.#isHead(this.answers.length) ? 0 : length);
    if (this.#rest.length < bodyEnd) return false;
    const body = this.#rest.subarray(bodyAt, bodyEnd);
    this.#rest = this.#rest.subarray(bodyEnd);
    if (!isInterim) this.answers.push({ status, headers, body });
    return true;
  }
}

function readHead(text: string): Pick<Answer, "status" | "headers"> {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = STATUS_LINE.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`No status line: ${JSON.stringify(statusLine)}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const field = FIELD.exec(line);
    if (field === null) throw new Error(`No header field: ${JSON.stringify(line)}`);
    headers.set((field[1] as string).toLowerCase(), field[2] as string);
  }
  return { status: Number(status), headers };
}

function lengthOf(headers: ReadonlyMap<string, string>): number {
  const length = headers.get("content-length") ?? "";
  if (/^\d+$/.test(length) && !headers.has("transfer-encoding")) return Number(length);
  throw new Error(`No length of the body: ${JSON.stringify([...headers])}`);
}
