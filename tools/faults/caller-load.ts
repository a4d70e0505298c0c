/** Load: callers with persistent connections. */
import { Agent, request, type IncomingHttpHeaders } from "node:http";

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class Callers {
  readonly connections: number;
  readonly #agent: Agent;

  constructor(connections: number) {
    this.connections = connections;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Rejects if the connection breaks before the answer is complete. */
  get(url: string, key: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      const sent = request(url, { agent: this.#agent, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("error", reject).on("data", (piece: Buffer) => pieces.push(piece));
        response.on("end", () => {
          const status = Number(response.statusCode);
          resolve({ status, headers: response.headers, body: Buffer.concat(pieces) });
        });
      });
      sent.on("error", reject).end();
    });
  }

  /** Repeats `call` on each connection until it returns false. */
  async all(call: (connection: number) => Promise<boolean>): Promise<void> {
    const caller = async (connection: number): Promise<void> => {
      while (await call(connection));
    };
    await Promise.all(Array.from({ length: this.connections }, (_, at) => caller(at)));
  }

  close(): void {
    this.#agent.destroy();
  }
}
