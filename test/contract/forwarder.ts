/** A TCP forwarder on a free port of 127.0.0.1, to cut connections without stopping a server. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Forwarder {
  readonly port: number;
  readonly #host: string;
  #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  /** Whether the next reply is dropped and its connection cut. */
  #losesReply = false;

  private constructor(server: Server, host: string, targetPort: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#host = host;
    this.#targetPort = targetPort;
    this.#accept();
  }

  static async start(host: string, targetPort: number): Promise<Forwarder> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Forwarder(server, host, targetPort);
  }

  /** Cuts every connection and refuses new ones. */
  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  async resume(): Promise<void> {
    this.#server = createServer().listen(this.port, "127.0.0.1");
    this.#accept();
    await once(this.#server, "listening");
  }

  /** Sends further connections to another server, as an address does after a failover. Open ones stay. */
  leadTo(port: number): void {
    this.#targetPort = port;
  }

  /** Cuts the connection instead of the next reply: the server does its work, and the client gets no reply. */
  loseNextReply(): void {
    this.#losesReply = true;
  }

  #accept(): void {
    this.#server.on("connection", (client) => {
      const target = connect(this.#targetPort, this.#host);
      for (const socket of [client, target]) {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          target.destroy();
        });
      }
      client.on("data", (bytes) => target.write(bytes));
      target.on("data", (bytes) => {
        if (this.#losesReply) {
          this.#losesReply = false;
          client.destroy();
        } else {
          client.write(bytes);
        }
      });
    });
  }
}
