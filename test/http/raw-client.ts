/** A client that writes any bytes to a socket, and reads the first answer. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import type { TestProxy } from "./fixture.ts";
import { checkAgainstOpenApi } from "./recorder.ts";

/** An answer; `code` is from its problem document. */
export interface Raw {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly code: unknown;
}

/**
 * Writes bytes to a socket and reads the first answer, to the end of the connection. The answer is
 * checked as one to `method` and `path`.
 */
export async function sendTo(
  url: string,
  bytes: string | Buffer,
  method = "GET",
  path = "/",
): Promise<Raw> {
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const pieces: Buffer[] = [];
    socket.on("data", (piece: Buffer) => pieces.push(piece));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(pieces).toString("latin1")));
    socket.end(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  });
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  expect(statusLine).toMatch(/^HTTP\/1\.1 \d{3} /);
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(": ", 1)[0]?.toLowerCase(), line.replace(/^[^:]+: /, "")]),
  );
  const body = rest.join("\r\n\r\n").slice(0, Number(headers["content-length"] ?? 0));
  const isJson = headers["content-type"]?.includes("json") === true;
  const json = isJson && body !== "" ? JSON.parse(body) : undefined;
  const status = Number(statusLine.split(" ")[1]);
  const raw = Buffer.from(body, "latin1");
  checkAgainstOpenApi(method, `http://x${path}`, { status, headers, raw, json });
  return { status, headers, text: body, code: json?.code };
}

/** The same for a GET of the target, with `lines` for header fields. */
export const getFrom = (
  url: string,
  target: string,
  lines = "Host: x\r\n",
  version = "1.1",
): Promise<Raw> =>
  sendTo(url, `GET ${target} HTTP/${version}\r\n${lines}Connection: close\r\n\r\n`, "GET", target);

/** A persistent connection for HEAD requests. */
export class Keeping {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open({ url }: TestProxy): Promise<Keeping> {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    await once(socket, "connect");
    return new Keeping(socket);
  }

  /** The header of the answer. */
  head(target: string, lines = ""): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = "";
      const onData = (piece: Buffer): void => {
        text += piece.toString("latin1");
        if (!text.endsWith("\r\n\r\n")) return;
        this.#socket.off("data", onData);
        resolve(text);
      };
      this.#socket.on("data", onData);
      this.#socket.once("error", reject);
      this.#socket.write(`HEAD ${target} HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Call at the end of a test file: the proxy still answers, and has logged no failure. */
export async function expectUnharmed(proxy: TestProxy): Promise<void> {
  expect((await proxy.get("/api/public/v1/prices")).status).toBe(200);
  expect(proxy.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
}
