/** A crowd of slow clients: some send a byte per second, as many read a byte per second. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { AnswerReader } from "./caller-answers.ts";

export interface Crowd {
  readonly port: number;
  readonly key: string;
  /** Number of senders, and number of readers. */
  readonly clients: number;
  /** The path that readers request, and the body that they must get. */
  readonly path: string;
  readonly body: Buffer;
}

/** What happened to a slow client; `failure` is set if that breaks a promise. */
export interface SlowEnd {
  readonly how: "answered" | "answered with 408" | "cut off" | "hanging" | "answered wrongly";
  readonly failure: string | null;
}

const TICKS_PER_SECOND = 10;
const OPENED_AT_ONCE = 50;
/**
 * One reader in twenty requests so many boards that they exceed the system's buffers (4 MB per
 * connection): the proxy must hold the rest, and give up. If all readers did so, the buffers would
 * use up the system's memory for connections.
 */
const DEEP_EVERY = 20;
const DEEP_ANSWERS = 16;

export class SlowClients {
  readonly #crowd: Crowd;
  readonly #senders: SlowClient[] = [];
  readonly #readers: SlowClient[] = [];
  readonly #openedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  private constructor(crowd: Crowd) {
    this.#crowd = crowd;
  }

  /** Connects all clients; then each sends or reads a byte per second. */
  static async open(crowd: Crowd): Promise<SlowClients> {
    const clients = new SlowClients(crowd);
    const lines = `Host: x\r\nAuthorization: Bearer ${crowd.key}\r\n`;
    const request = `GET ${crowd.path} HTTP/1.1\r\n${lines}\r\n`;
    for (let at = 0; at < crowd.clients; at += OPENED_AT_ONCE) {
      const opened: Promise<void>[] = [];
      for (let one = at; one < Math.min(at + OPENED_AT_ONCE, crowd.clients); one += 1) {
        const answers = one % DEEP_EVERY === 0 ? DEEP_ANSWERS : 1;
        const sender = new SlowClient(crowd.port, 1);
        const reader = new SlowClient(crowd.port, answers);
        clients.#senders.push(sender);
        clients.#readers.push(reader);
        sender.listen();
        opened.push(
          sender.connected,
          reader.connected.then(() => reader.send(request.repeat(answers))),
        );
      }
      await Promise.all(opened);
    }
    clients.#start(`GET ${crowd.path} HTTP/1.1\r\n${lines}X-Slow: ${"s".repeat(10_000)}`);
    return clients;
  }

  get ageMs(): number {
    return performance.now() - this.#openedAt;
  }

  /** Closes all connections. */
  async leave(): Promise<void> {
    clearInterval(this.#timer);
    const all = [...this.#senders, ...this.#readers];
    for (const client of all) client.leave();
    await Promise.all(all.map(({ closed }) => closed));
  }

  /** Resolves when all senders are disconnected, or after `limitMs`. */
  async sendersEnded(limitMs: number): Promise<void> {
    await allClosed(this.#senders, limitMs);
  }

  /**
   * Readers read without a pause until all are disconnected, or for `limitMs`. Then all leave; returns
   * how each client ended.
   */
  async readToTheEnd(limitMs: number): Promise<{ senders: SlowEnd[]; readers: SlowEnd[] }> {
    clearInterval(this.#timer);
    for (const reader of this.#readers) reader.listen();
    await allClosed(this.#readers, limitMs);
    const ends = {
      senders: this.#senders.map((sender) => senderEnd(sender)),
      readers: this.#readers.map((reader) => readerEnd(reader, this.#crowd.body)),
    };
    await this.leave();
    return ends;
  }

  /** Serves a tenth of the clients per tick, to spread the load. */
  #start(text: string): void {
    let tick = 0;
    this.#timer = setInterval(() => {
      const byte = text[Math.floor(tick / TICKS_PER_SECOND)] as string;
      for (let at = tick % TICKS_PER_SECOND; at < this.#senders.length; at += TICKS_PER_SECOND) {
        (this.#senders[at] as SlowClient).send(byte);
        (this.#readers[at] as SlowClient).readByte();
      }
      tick += 1;
    }, 1_000 / TICKS_PER_SECOND);
  }
}

/** Resolves when all clients are disconnected, or after `limitMs`. */
async function allClosed(clients: readonly SlowClient[], limitMs: number): Promise<void> {
  const timeout = new AbortController();
  const late = delay(limitMs, undefined, { signal: timeout.signal }).catch(() => {});
  await Promise.race([Promise.all(clients.map(({ closed }) => closed)), late]);
  timeout.abort();
}

/** What a client has seen at the end. */
export interface SlowClientView {
  readonly isClosed: boolean;
  readonly reader: AnswerReader;
  /** Set if the bytes received are not HTTP. */
  readonly error: string | null;
  /** The number of requests it sent. */
  readonly wanted: number;
}

class SlowClient implements SlowClientView {
  readonly reader = new AnswerReader(() => false);
  readonly wanted: number;
  readonly connected: Promise<void>;
  readonly closed: Promise<void>;
  isClosed = false;
  error: string | null = null;
  readonly #socket: Socket;

  constructor(port: number, wanted: number) {
    this.wanted = wanted;
    this.#socket = connect(port, "127.0.0.1").setNoDelay(true);
    // `close` follows an error.
    this.#socket.on("error", () => {});
    // Reads nothing until `readByte` or `listen`.
    this.#socket.pause();
    this.connected = new Promise((resolve, reject) => {
      this.#socket.once("connect", resolve);
      this.#socket.once("close", () => reject(new Error("A slow client could not connect")));
    });
    this.connected.catch(() => {});
    this.closed = new Promise((resolve) => {
      this.#socket.once("close", () => {
        this.isClosed = true;
        resolve();
      });
    });
  }

  send(text: string): void {
    if (this.#socket.writable) this.#socket.write(text);
  }

  readByte(): void {
    const byte = this.#socket.read(1) as Buffer | null;
    if (byte !== null) this.#take(byte);
  }

  /** Reads everything from now on. */
  listen(): void {
    this.#socket.on("data", (piece: Buffer) => this.#take(piece));
    this.#socket.resume();
  }

  leave(): void {
    this.#socket.destroy();
  }

  #take(piece: Buffer): void {
    try {
      this.reader.push(piece);
    } catch (error) {
      this.error ??= String(error);
    }
  }
}

/** A sender whose request takes too long must get 408, or its connection must be closed. */
export function senderEnd({ isClosed, reader, error }: SlowClientView): SlowEnd {
  if (!isClosed) return { how: "hanging", failure: "a sender is still connected" };
  const [answer] = reader.answers;
  if (error === null && answer === undefined) return { how: "cut off", failure: null };
  if (answer?.status === 408) return { how: "answered with 408", failure: null };
  return { how: "answered wrongly", failure: error ?? `a sender got ${answer?.status}` };
}

/**
 * A reader must get only correct answers. Its connection may stay open if it has all of them;
 * otherwise it must be closed.
 */
export function readerEnd(view: SlowClientView, body: Buffer): SlowEnd {
  const { isClosed, reader, error, wanted } = view;
  const wrong = reader.answers.find((answer) => answer.status !== 200 || !answer.body.equals(body));
  if (error !== null || wrong !== undefined || reader.answers.length > wanted) {
    const failure = error ?? `a reader got ${reader.answers.length} answers, one of them wrong`;
    return { how: "answered wrongly", failure };
  }
  if (reader.answers.length === wanted) return { how: "answered", failure: null };
  if (!isClosed) return { how: "hanging", failure: "a reader still waits for its answer" };
  return { how: "cut off", failure: null };
}
