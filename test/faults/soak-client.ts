/** Requests over kept connections, received whole and decoded. */
import { Agent, request, type IncomingHttpHeaders } from "node:http";
import { gunzipSync } from "node:zlib";

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** After decoding. */
  readonly body: Buffer;
}

/** A connection that broke, or was refused. */
export class BrokenConnection extends Error {
  /** Whether the request may have arrived. */
  readonly isUncertain: boolean;

  constructor(cause: Error) {
    super(`The connection broke: ${cause.message}`, { cause });
    this.name = "BrokenConnection";
    this.isUncertain = !("code" in cause && cause.code === "ECONNREFUSED");
  }
}

const PATIENCE_MS = 20_000;

export class Client {
  readonly #agent = new Agent({ keepAlive: true });

  /** Rejects with BrokenConnection where there is no whole answer. */
  get(url: string, headers: Readonly<Record<string, string>>): Promise<Received> {
    return new Promise((resolve, reject) => {
      const broken = (error: Error): void => reject(new BrokenConnection(error));
      const sent = request(url, { agent: this.#agent, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", broken);
        response.on("end", () => {
          const raw = Buffer.concat(pieces);
          const isCoded = response.headers["content-encoding"] === "gzip" && raw.length > 0;
          const body = isCoded ? gunzipSync(raw) : raw;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      });
      sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error("no answer came")));
      sent.on("error", broken).end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
