/** Who calls in a soak, and what each is to be told: the keys of three accounts, and no key at all. */
import { createKey, keyIdOf } from "../../src/state/keys.ts";
import type { TierName } from "../../src/market/tier.ts";
import { requireCode, type Ran } from "./soak-program.ts";

/** `ok`, or the code of the refusal. */
export type Verdict = "ok" | "invalid_key" | "key_suspended" | "trial_lapsed";

/** Calls a month of those who are counted together. */
export interface Subject {
  readonly name: string;
  readonly limit: number | null;
  /** Calls answered with data this month. */
  answered: number;
  /** Calls whose connection broke: they may have been counted. */
  uncertain: number;
}

export interface Caller {
  readonly tier: TierName;
  /** Null: without a key, from `address`. */
  readonly key: string | null;
  readonly address: string;
  readonly subject: Subject;
  /** What it may be told at the moment: two verdicts while a change is on its way. */
  verdicts: ReadonlySet<Verdict>;
}

export interface KeyedCaller extends Caller {
  readonly key: string;
  readonly keyId: string;
  readonly account: string;
  /** When its rotation's overlap or its trial ends, and what it is told from then on. */
  ends: { readonly atMs: number; readonly verdict: Verdict } | null;
}

/** Runs `chipboard` with these arguments and the soak's state. */
export type StateCommand = (args: readonly string[]) => Promise<Ran>;

export const ACCOUNTS = { small: "starter", large: "pro", trial: "starter" } as const;
export type Account = keyof typeof ACCOUNTS;
const LIMITS = { free: 1_000, starter: 25_000, pro: null } as const;
const ADDRESSES = 3;
const REFUSED_KEPT = 4;

export class Callers {
  readonly subjects = new Map<string, Subject>();
  /** Without a key, and not part of the load: its quota lasts. */
  readonly inspector: Caller;
  readonly #command: StateCommand;
  readonly #free: readonly Caller[];
  readonly #forged: Caller;
  #keyed: KeyedCaller[] = [];

  constructor(command: StateCommand) {
    this.#command = command;
    this.#free = Array.from({ length: ADDRESSES }, (_, at) => this.#keyless(`198.51.100.${at}`));
    this.inspector = this.#keyless("203.0.113.1");
    this.#forged = forgedCaller();
  }

  get all(): readonly Caller[] {
    return [...this.#free, ...this.#keyed, this.#forged];
  }

  /** Callers who are let in, of one tier. */
  admitted(tier: TierName): Caller[] {
    return this.all.filter((caller) => caller.tier === tier && isAdmitted(caller));
  }

  /** Runs a command on the state. */
  run(args: readonly string[]): Promise<Ran> {
    return this.#command(args);
  }

  /** Adds the accounts; the trial lapses after `trialDays`. */
  async addAccounts(trialDays: number): Promise<void> {
    await Promise.all(
      Object.entries(ACCOUNTS).map(async ([name, tier]) => {
        const trial = name === "trial" ? ["--trial-days", String(trialDays)] : [];
        const ran = await this.#command(["accounts", "add", name, "--tier", tier, ...trial]);
        requireCode(ran, `accounts add ${name}`, 0);
      }),
    );
  }

  async createKey(account: Account, ends: KeyedCaller["ends"] = null): Promise<KeyedCaller> {
    const ran = await this.#command(["keys", "create", account, "--json"]);
    requireCode(ran, `keys create ${account}`, 0);
    return this.#take(ran, account, ends);
  }

  /** Rotates a key: the old one goes on until `overlapEndsMs`. Returns the new one. */
  async rotate(old: KeyedCaller, overlap: string, overlapEndsMs: number): Promise<KeyedCaller> {
    const ran = await this.#command(["keys", "rotate", old.keyId, "--overlap", overlap, "--json"]);
    requireCode(ran, `keys rotate ${old.keyId}`, 0);
    old.ends = { atMs: overlapEndsMs, verdict: "invalid_key" };
    return this.#take(ran, old.account as Account, null);
  }

  /** Keys of an account that are let in and stay so for now. */
  standing(account: Account): KeyedCaller[] {
    return this.#keyed.filter(
      (caller) => caller.account === account && isAdmitted(caller) && caller.ends === null,
    );
  }

  /** All keys of an account that are let in, those in a rotation's overlap as well. */
  admittedOf(account: Account): KeyedCaller[] {
    return this.#keyed.filter((caller) => caller.account === account && isAdmitted(caller));
  }

  /** Time was put forward: overlaps and trials end. Some who were refused for long are forgotten. */
  passTo(nowMs: number): void {
    for (const caller of this.#keyed) {
      if (caller.ends === null || nowMs < caller.ends.atMs) continue;
      caller.verdicts = new Set([caller.ends.verdict]);
      caller.ends = null;
    }
    const refused = this.#keyed.filter(({ verdicts }) => verdicts.has("invalid_key"));
    const forgotten = new Set(refused.slice(0, Math.max(0, refused.length - REFUSED_KEPT)));
    this.#keyed = this.#keyed.filter((caller) => !forgotten.has(caller));
  }

  /** A new month: everybody starts again. */
  startMonth(): void {
    for (const subject of this.subjects.values()) {
      subject.answered = 0;
      subject.uncertain = 0;
    }
  }

  #take(ran: Ran, account: Account, ends: KeyedCaller["ends"]): KeyedCaller {
    const { key, key_id: keyId } = JSON.parse(ran.stdout) as { key: string; key_id: string };
    const tier = ACCOUNTS[account];
    const subject = this.#subject(account, tier);
    const verdicts = new Set<Verdict>(["ok"]);
    const caller = { tier, key, keyId, account, address: "192.0.2.1", subject, verdicts, ends };
    this.#keyed.push(caller);
    return caller;
  }

  #keyless(address: string): Caller {
    const subject = this.#subject(address, "free");
    return { tier: "free", key: null, address, subject, verdicts: new Set(["ok"]) };
  }

  #subject(name: string, tier: TierName): Subject {
    const known = this.subjects.get(name);
    if (known !== undefined) return known;
    const subject = { name, limit: LIMITS[tier], answered: 0, uncertain: 0 };
    this.subjects.set(name, subject);
    return subject;
  }
}

export const isAdmitted = ({ verdicts }: Caller): boolean =>
  verdicts.size === 1 && verdicts.has("ok");

/** A key that looks like one and was never given to anybody. */
export function forgedCaller(): Caller {
  const key = createKey();
  const subject = { name: `forged ${keyIdOf(key)}`, limit: null, answered: 0, uncertain: 0 };
  return {
    tier: "pro",
    key,
    address: "192.0.2.2",
    subject,
    verdicts: new Set<Verdict>(["invalid_key"]),
  };
}
