/** Raw connections that a test controls. */
import { connect, type Socket } from "node:net";

/** One connection, and everything that it has received. */
export class Visitor {
  received = "";
  isClosed = false;
  readonly closed: Promise<void>;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (piece: Buffer) => (this.received += piece.toString("latin1")));
    // `close` follows an error.
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.isClosed = true;
        resolve();
      });
    });
  }

  /** Connects to the port of `url` from the address `from`; resolves when the system has connected. */
  static async at(url: string, from = "127.0.0.1"): Promise<Visitor> {
    const port = Number(new URL(url).port);
    const socket = connect({ port, host: "127.0.0.1", localAddress: from });
    const visitor = new Visitor(socket);
    await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
    return visitor;
  }

  send(text: string | Buffer): this {
    this.#socket.write(typeof text === "string" ? Buffer.from(text, "latin1") : text);
    return this;
  }

  /** Ends the sending side. */
  end(): this {
    this.#socket.end();
    return this;
  }

  /** Reads nothing until `resume`. */
  pause(): this {
    this.#socket.pause();
    return this;
  }

  resume(): void {
    this.#socket.resume();
  }

  leave(): void {
    this.#socket.destroy();
  }

  /** The status of each answer so far, in order. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}
