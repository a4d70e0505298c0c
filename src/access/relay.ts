/**
 * One gatekeeper for several processes: the primary holds it, and worker processes ask through the
 * channel that `fork` gives them. A turn's questions go in one message, and so do the answers.
 *
 *   worker → primary   {"chipboard":"ask","questions":[[7,"take","account:acme",25000,1795253400000]]}
 *   primary → worker   {"chipboard":"answer","answers":[[7,{"granted":true,"used":12}]]}
 *   primary → worker   {"chipboard":"state","healthy":true,"addressSecret":"…"}
 */
import type { Clock } from "../clock.ts";
import { UnreachableError } from "../errors.ts";
import type { Gatekeeper, KeyVerdict, MaybePromise, Subject, TakeResult } from "./gatekeeper.ts";
import { addressSubject } from "./address-subject.ts";
import { isOurs, tell, type Channel } from "./channel.ts";
import { GenerationCache } from "./generation-cache.ts";
import { KEY_CHARACTERS, keySha256, looksLikeKey } from "./key.ts";
import { INVALID_KEY, STATE_UNAVAILABLE } from "./records.ts";
import type { StateGatekeeper } from "./state.ts";

/** A worker goes by a verdict for this long without asking again. */
const VERDICT_MS = 1_000;
const REMEMBERED_VERDICTS = 100_000;
const HEALTH_MS = 500;

type Question =
  | readonly [id: number, "authenticate", key: string]
  | readonly [id: number, "take", subject: Subject, limit: number | null, atMs: number]
  | readonly [id: number, "used", subject: Subject, atMs: number];

type Answer = readonly [id: number, answer: unknown];

type Message =
  | { readonly chipboard: "ask"; readonly questions: readonly Question[] }
  | { readonly chipboard: "answer"; readonly answers: readonly Answer[] }
  | { readonly chipboard: "hello" }
  | { readonly chipboard: "state"; readonly healthy: boolean; readonly addressSecret: string };

/**
 * In the primary: answers a worker's questions until the worker goes, or until the function that is
 * returned is called. Other messages on the channel are left alone.
 */
export function answerWorker(gatekeeper: StateGatekeeper, worker: Channel): () => void {
  let answers: Answer[] = [];
  let toldHealthy: boolean | null = null;
  const send = (message: Message): void => tell(worker, message);
  const tellState = (): void => {
    toldHealthy = gatekeeper.healthy;
    const { addressSecret } = gatekeeper;
    send({ chipboard: "state", healthy: toldHealthy, addressSecret });
  };
  const answer = (id: number, value: unknown): void => {
    if (answers.push([id, value]) > 1) return;
    setImmediate(() => {
      send({ chipboard: "answer", answers });
      answers = [];
    });
  };
  const onMessage = (message: unknown): void => {
    if (!isMessage(message)) return;
    if (message.chipboard === "hello") tellState();
    if (message.chipboard !== "ask") return;
    for (const question of message.questions) {
      const asked = ask(gatekeeper, question);
      if (asked instanceof Promise) void asked.then((value) => answer(question[0], value));
      else answer(question[0], asked);
    }
  };
  const timer = setInterval(() => {
    if (gatekeeper.healthy !== toldHealthy) tellState();
  }, HEALTH_MS).unref();
  const stop = (): void => {
    clearInterval(timer);
    worker.off("message", onMessage);
    worker.off("disconnect", stop);
  };
  worker.on("message", onMessage);
  worker.on("disconnect", stop);
  return stop;
}

/**
 * In a worker: a gatekeeper that asks the primary over `channel` (its `process`). Resolves when the
 * primary has answered for the first time. Where the primary is gone, keys are
 * `state_unavailable` and counts reject with UnreachableError; the worker should end.
 */
export function openRelay(channel: Channel, clock: Clock): Promise<Gatekeeper> {
  return new Promise((resolve, reject) => {
    const onDisconnect = (): void => reject(primaryGone());
    const onMessage = (message: unknown): void => {
      if (!isMessage(message) || message.chipboard !== "state") return;
      channel.off("message", onMessage);
      channel.off("disconnect", onDisconnect);
      resolve(new RelayGatekeeper(channel, clock, message.addressSecret, message.healthy));
    };
    channel.on("message", onMessage);
    channel.on("disconnect", onDisconnect);
    const hello: Message = { chipboard: "hello" };
    channel.send?.(hello);
  });
}

class RelayGatekeeper implements Gatekeeper {
  readonly #channel: Channel;
  readonly #clock: Clock;
  readonly #addressSecret: string;
  readonly #verdicts = new GenerationCache<{ verdict: KeyVerdict; untilMs: number }>(
    REMEMBERED_VERDICTS,
  );
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #onMessage = (message: unknown): void => this.#receive(message);
  readonly #onDisconnect = (): void => this.#lose();
  #questions: Question[] = [];
  #lastId = 0;
  #healthy: boolean;
  #isConnected = true;

  constructor(channel: Channel, clock: Clock, addressSecret: string, healthy: boolean) {
    this.#channel = channel;
    this.#clock = clock;
    this.#addressSecret = addressSecret;
    this.#healthy = healthy;
    channel.on("message", this.#onMessage);
    channel.on("disconnect", this.#onDisconnect);
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  authenticate(key: string): MaybePromise<KeyVerdict> {
    if (key.length !== KEY_CHARACTERS) return INVALID_KEY;
    const sha256 = keySha256(key);
    const known = this.#verdicts.get(sha256);
    if (known !== undefined && this.#clock.now() < known.untilMs) return known.verdict;
    if (!looksLikeKey(key)) return INVALID_KEY;
    return this.#authenticate(key, sha256);
  }

  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#addressSecret, address, atMs);
  }

  async take(subject: Subject, limit: number | null, atMs: number): Promise<TakeResult> {
    return (await this.#ask((id) => [id, "take", subject, limit, atMs])) as TakeResult;
  }

  async used(subject: Subject, atMs: number): Promise<number> {
    return (await this.#ask((id) => [id, "used", subject, atMs])) as number;
  }

  /** Waits for what is asked; the primary writes the counts. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#asked.values()].map(({ promise }) => promise));
    this.#channel.off("message", this.#onMessage);
    this.#channel.off("disconnect", this.#onDisconnect);
  }

  async #authenticate(key: string, sha256: string): Promise<KeyVerdict> {
    try {
      const verdict = (await this.#ask((id) => [id, "authenticate", key])) as KeyVerdict;
      this.#verdicts.set(sha256, { verdict, untilMs: this.#clock.now() + VERDICT_MS });
      return verdict;
    } catch {
      return STATE_UNAVAILABLE;
    }
  }

  #ask(question: (id: number) => Question): Promise<unknown> {
    if (!this.#isConnected) return Promise.reject(primaryGone());
    this.#lastId += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#asked.set(this.#lastId, answer);
    if (this.#questions.push(question(this.#lastId)) === 1) setImmediate(() => this.#send());
    return answer.promise;
  }

  #send(): void {
    const message: Message = { chipboard: "ask", questions: this.#questions };
    this.#questions = [];
    if (this.#isConnected) tell(this.#channel, message);
  }

  #receive(message: unknown): void {
    if (!isMessage(message)) return;
    if (message.chipboard === "state") this.#healthy = message.healthy;
    if (message.chipboard !== "answer") return;
    for (const [id, value] of message.answers) {
      this.#asked.get(id)?.resolve(value);
      this.#asked.delete(id);
    }
  }

  #lose(): void {
    this.#isConnected = false;
    this.#healthy = false;
    for (const answer of this.#asked.values()) answer.reject(primaryGone());
    this.#asked.clear();
  }
}

function ask(gatekeeper: Gatekeeper, question: Question): MaybePromise<unknown> {
  switch (question[1]) {
    case "authenticate":
      return gatekeeper.authenticate(question[2]);
    case "take":
      return gatekeeper.take(question[2], question[3], question[4]);
    case "used":
      return gatekeeper.used(question[2], question[3]);
  }
}

const primaryGone = (): UnreachableError =>
  new UnreachableError("The process that counts calls for this worker is gone");

const isMessage = (message: unknown): message is Message => isOurs(message);
