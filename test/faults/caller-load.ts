/** Callers that keep their connections, as load. */
import { Agent, request, type IncomingHttpHeaders } from "node:http";

export interface Told {
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

  /** Rejects where the connection breaks before the answer is whole. */
  get(url: string, key: string): Promise<Told> {
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

  /** Runs `call` over and over on each connection, until it says that this was enough. */
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
