/**
 * Two proxies with their callers, the operator who revokes a key, and the promises to them: each answer is the file of its
 * tier in the snapshot that its publication made the head; calls are counted exactly; nobody gets more calls than
 * there are; a key that is in force is not refused, and a revoked one is refused once a proxy has looked.
 */
import { gunzipSync } from "node:zlib";
import { UnreachableError } from "../../src/lib/errors.ts";
import type { TierName } from "../../src/market/tier.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { API } from "../../src/public/routes.ts";
import { codedPath, FILES, snapshotText, SESSIONS } from "../../src/store/paths.ts";
import { Registry } from "../../src/state/registry.ts";
import { keyIdOf } from "../../src/state/api-keys.ts";
import { monthOf } from "../../src/ports/month.ts";
import { isPublication } from "../../src/snapshot/log/entry.ts";
import { readEntry } from "../store/log-entries.ts";
import type { Operation } from "../faults/crash-store.ts";
import { gatedState, startWorldProxy, type Heard, type WorldProxy } from "./proxy.ts";
import { IDLE, type Gate } from "./scheduler.ts";
import { CALLS_LEFT, type WorldState } from "./world-state.ts";

const PROXIES = 2;
const TURNS_MAX = 14;
const AT_ONCE_MAX = 4;
/** How often the operator waits for others before the key is revoked. */
const WAITS_MAX = 100;

type CallerName = keyof WorldState["keys"] | "keyless" | "unknown";
const CALLERS: readonly CallerName[] = [
  "keyless",
  "starter",
  "starter",
  "revoked",
  "pro",
  "pro",
  "unknown",
];
const UNKNOWN_KEY = `cbk_${"0".repeat(49)}`;
const tierOf = (caller: CallerName): TierName =>
  caller === "keyless" ? "free" : caller === "pro" ? "pro" : "starter";

const TARGETS: readonly [path: string, file: (tier: TierName) => string][] = [
  ["/prices", FILES.board],
  ["/prices/a", (tier) => FILES.contract(tier, "a")],
  ["/index", FILES.index],
  ["/indices/composite", (tier) => FILES.indexOf(tier, "composite")],
  ["/export.csv", FILES.csv],
  ["/history.csv", FILES.historyCsv],
  ["/levels.csv", FILES.levelsCsv],
  ["/corrections", FILES.tierCorrections],
];

/** Refusals that say nothing of the promises: the caller's tier, an old publication, a proxy that has no data yet. */
const EXPECTED = new Set([
  "key_required",
  "tier_required",
  "not_on_board",
  "no_session",
  "not_published",
  "not_in_snapshot",
  "pruned",
  "busy",
  "state_unavailable",
]);

/** Those that may come after the call was counted. */
const GIVEN_BACK = new Set(["pruned", "busy"]);

interface ServiceActor {
  readonly name: string;
  readonly run: (gate: Gate, tell: (what: string) => void) => Promise<void>;
}

export class ServicePromises {
  readonly #store: ObjectStore;
  readonly #state: WorldState;
  readonly #clock: { now(): number };
  readonly #rate: (place: string) => number;
  /** Each object of a snapshot that was ever created: a prune may remove it while it is sent. */
  readonly #made = new Map<string, Buffer>();
  readonly #proxies = new Map<string, WorldProxy>();
  readonly #granted = { starter: 0, pro: 0 };
  /**
   * Calls that may have been counted and given back, because the answer could not be made. With several proxies the count
   * may stay too high by them, and is never too low (guarantees.md).
   */
  readonly #givenBack = { starter: 0, pro: 0 };
  #usedBefore = 0;
  /** Whether a proxy has admitted the key that is to be revoked. */
  #isAdmitted = false;
  #revocation: "none" | "begun" | "done" = "none";
  /** The proxies that have had a snapshot to serve. */
  readonly #serving = new Set<string>();
  /** The proxies that have looked at the state since the key was revoked. */
  readonly #informed = new Set<string>();

  constructor(
    store: ObjectStore,
    state: WorldState,
    clock: { now(): number },
    rate: (place: string) => number,
  ) {
    this.#store = store;
    this.#state = state;
    this.#clock = clock;
    this.#rate = rate;
  }

  async begin(): Promise<void> {
    this.#usedBefore = await this.#state.used("starter");
    for await (const { key } of this.#store.list(SESSIONS)) {
      this.#made.set(key, (await this.#store.get(key)) as Buffer);
    }
  }

  /** Called after each write to the store. */
  written({ key, bytes }: Operation): void {
    if (bytes !== undefined && key.startsWith(SESSIONS)) this.#made.set(key, Buffer.from(bytes));
  }

  get actors(): readonly ServiceActor[] {
    const proxies = Array.from({ length: PROXIES }, (_, at) => `proxy ${at + 1}`);
    return [
      ...proxies.map((name) => ({ name, run: this.#serve.bind(this, name) })),
      { name: "operator", run: this.#operate.bind(this) },
    ];
  }

  async #operate(gate: Gate, tell: (what: string) => void): Promise<void> {
    const driver = gatedState(await this.#state.open("use"), gate);
    const registry = new Registry(driver, this.#clock, "operator");
    // A proxy that never saw the key cannot admit it too long.
    for (let waits = 0; waits < WAITS_MAX && !this.#isAdmitted; waits += 1)
      await gate({ kind: IDLE, key: "" }, async () => {});
    this.#revocation = "begun";
    try {
      await registry.revokeKey(keyIdOf(this.#state.keys.revoked));
      this.#revocation = "done";
      tell("operator: the key is revoked");
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
    }
  }

  async #serve(name: string, gate: Gate, tell: (what: string) => void): Promise<void> {
    const driver = await this.#state.open("serve");
    const proxy = await startWorldProxy(gate, this.#store, driver, this.#clock).catch(
      (error: unknown) => {
        if (error instanceof UnreachableError) return null;
        throw error;
      },
    );
    if (proxy === null) return;
    this.#proxies.set(name, proxy);
    const turns = 2 + Math.floor(this.#rate(`${name} turns`) * TURNS_MAX);
    for (let turn = 0; turn < turns; turn += 1) {
      const place = `${name} ${turn}`;
      const drawn = this.#rate(place);
      if (turn === 0 || drawn < 0.3) await proxy.poll();
      else if (drawn < 0.45) await this.#look(name, proxy);
      else {
        const length = 1 + Math.floor(this.#rate(`${place} asks`) * AT_ONCE_MAX);
        const asks = Array.from({ length }, (_, at) =>
          this.#ask(name, proxy, `${place} ${at}`, tell),
        );
        const looks = this.#rate(`${place} looks`) < 0.4 ? [this.#look(name, proxy)] : [];
        await Promise.all([...asks, ...looks]);
      }
    }
  }

  async #look(name: string, proxy: WorldProxy): Promise<void> {
    const isDone = this.#revocation === "done";
    await proxy.look();
    if (isDone && proxy.accounts.trouble === null) this.#informed.add(name);
  }

  async #ask(
    name: string,
    proxy: WorldProxy,
    place: string,
    tell: (what: string) => void,
  ): Promise<void> {
    const among = <T>(what: string, choices: readonly T[]): T =>
      choices[Math.floor(this.#rate(`${place} ${what}`) * choices.length)] as T;
    const caller = among("caller", CALLERS);
    const [path, file] = among("target", TARGETS);
    const number = this.#rate(`${place} old`) < 0.4 ? among("number", [1, 2, 3, 4, 5]) : null;
    const target = `${API}${path}${number === null ? "" : `?publication=${number}`}`;
    const key =
      caller === "keyless" ? null : caller === "unknown" ? UNKNOWN_KEY : this.#state.keys[caller];
    const before = { isInformed: this.#informed.has(name), revocation: this.#revocation };
    const heard = await proxy.ask(target, key, among("peer", ["203.0.113.1", "203.0.113.2"]));
    const { status, told } = heard;
    tell(`${name}: ${caller} ${target} ${status} ${told.code ?? ""}`);
    if (told.calls > 0 && caller !== "keyless") {
      this.#granted[caller === "pro" ? "pro" : "starter"] += told.calls;
    }
    if (caller === "revoked" && status === 200) this.#isAdmitted = true;
    if (told.code === "invalid_key") {
      const mayBe = caller === "unknown" || (caller === "revoked" && this.#revocation !== "none");
      if (!mayBe) throw new Error(`${name} refuses the key of ${caller}, which is in force`);
      return;
    }
    if (caller === "unknown" && told.code !== "state_unavailable")
      throw new Error(`${name} admits a key that does not exist: ${status}`);
    if (caller === "revoked" && before.isInformed && proxy.accounts.trouble === null)
      throw new Error(`${name} admits a revoked key, although it has looked: ${status}`);
    if (proxy.live.current !== null) this.#serving.add(name);
    if (told.code === "no_session" && this.#serving.has(name))
      throw new Error(`${name} had a snapshot, and has none any more`);
    if (told.code === "quota_exceeded") {
      if (tierOf(caller) !== "starter") throw new Error(`${name} refuses ${caller} for its quota`);
      return;
    }
    if (told.code !== undefined) {
      if (GIVEN_BACK.has(told.code)) this.#givenBack[caller === "pro" ? "pro" : "starter"] += 1;
      if (!EXPECTED.has(told.code)) throw new Error(`${name} answers ${told.code} for ${target}`);
      return;
    }
    await this.#requireFile(name, target, heard, file(tierOf(caller)), number);
  }

  /** Throws unless the answer is the file in the snapshot that its publication made the head. */
  async #requireFile(
    name: string,
    target: string,
    { fields, body }: Heard,
    file: string,
    asked: number | null,
  ): Promise<void> {
    const number = Number(fields.get("x-publication"));
    const snapshot = fields.get("x-snapshot") as string;
    const entry = await readEntry(this.#store, number);
    if (!isPublication(entry) || snapshotText(entry) !== snapshot)
      throw new Error(`${name} says that publication ${number} is ${snapshot}`);
    if (asked !== null && asked !== number)
      throw new Error(`${name} answers publication ${number} for ${target}`);
    const key = `${SESSIONS}${snapshot}/${file}`;
    const code = this.#made.get(codedPath(key));
    const stored = this.#made.get(key) ?? (code && gunzipSync(code));
    if (stored === undefined) throw new Error(`${name} answers ${target}, and ${key} never was`);
    if (comparable(body) !== comparable(stored))
      throw new Error(`${name} answers ${target} with other bytes than ${key} has`);
  }

  /**
   * Nothing fails any more: each proxy serves the newest publication that it knows, granted calls are in the state,
   * and nobody had more than there was.
   */
  async end(failed: ReadonlySet<string>): Promise<void> {
    for (const [name, proxy] of this.#proxies) {
      await proxy.look();
      await proxy.accounts.counts.flush();
      await proxy.poll();
      await proxy.poll();
      const { current, newest } = proxy.live;
      if (current?.publication.number !== newest?.number)
        throw new Error(
          `${name} serves publication ${current?.publication.number} and knows ${newest?.number}`,
        );
    }
    const { starter } = this.#granted;
    const before = { starter: this.#usedBefore, pro: 0 };
    for (const account of ["starter", "pro"] as const) {
      const granted = this.#granted[account];
      const used = (await this.#state.used(account)) - before[account];
      if (used < granted || used > granted + this.#givenBack[account])
        throw new Error(`${granted} calls of ${account} were granted, ${used} are counted`);
    }
    const hasFailed = [...this.#proxies.keys()].some((name) => failed.has(name));
    const isOneMonth = monthOf(this.#clock.now()) === this.#state.month;
    if (!hasFailed && isOneMonth && starter > CALLS_LEFT)
      throw new Error(`${starter} calls of Starter were granted, and there were ${CALLS_LEFT}`);
  }

  /** After the next publication: each proxy serves the newest one after a poll. */
  async caughtUp(): Promise<void> {
    for (const [name, proxy] of this.#proxies) {
      await proxy.poll();
      await proxy.poll();
      const newest = proxy.live.newest?.number ?? 0;
      const { fields, status } = await proxy.ask(
        `${API}/prices`,
        this.#state.keys.pro,
        "203.0.113.9",
      );
      const next = await readEntry(this.#store, newest + 1).catch(() => null);
      if (next !== null && isPublication(next))
        throw new Error(`${name} does not follow the log to publication ${newest + 1}`);
      if (status !== 200 || Number(fields.get("x-publication")) !== newest)
        throw new Error(
          `${name} answers ${status} of ${fields.get("x-publication")}, not of ${newest}`,
        );
    }
  }
}

/** The bytes as text; of JSON without what the proxy says of lateness. */
const comparable = (bytes: Buffer): string =>
  String(bytes).replace(/"(?:delayed_sessions|next_session_utc)":[^,}]*/g, "");
