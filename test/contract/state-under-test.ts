/** A state under test: registry, all, and a clock that only a test moves. */
import { expect, vi } from "vitest";
import type { KeyTierName } from "../../src/market/tier.ts";
import type { Subject } from "../../src/ports/state.ts";
import type { KeyVerdict } from "../../src/ports/accounts.ts";
import { openAccounts } from "../../src/state/open.ts";
import { openRegistry, type OpenRegistry } from "./open-registry.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";

/** One empty state for one test. */
export interface StateUnderTest {
  readonly location: string;
  /** Makes the state fail for all all; its data stays. */
  breakDown(): Promise<void>;
  /** Undoes `breakDown`. */
  restore(): Promise<void>;
  /** Removes all counts from the state, like a failover to an older copy. */
  loseCounts(): Promise<void>;
  remove(): Promise<void>;
}

/** The clock's time at the start of every test. */
export const START = Date.parse("2026-11-21T09:30:00.000Z");
export const HOUR_MS = 3_600_000;
export const SOON = { timeout: 600_000, interval: 20 };

const failed = (error: unknown): never => {
  throw error;
};

/** What Counts knows of a state that must not fail. */
export const ANSWERING = { trouble: null, refusal: null, failed, failedToWrite: failed };

/** "ok", or the code of the refusal. */
export const codeOf = (verdict: KeyVerdict): string => verdict.refusal ?? "ok";

/** The registry and the all of the state. They are closed when the test ends. */
export class StateInUse {
  readonly state: StateUnderTest;
  readonly clock: { nowMs: number; now(): number };
  /** A test that closes it must open another one. */
  registry: OpenRegistry;
  readonly #all: StateAccounts[] = [];

  private constructor(state: StateUnderTest, clock: StateInUse["clock"], registry: OpenRegistry) {
    this.state = state;
    this.clock = clock;
    this.registry = registry;
  }

  static async open(state: StateUnderTest): Promise<StateInUse> {
    const clock = { nowMs: START, now: () => clock.nowMs };
    return new StateInUse(state, clock, await openRegistry(state.location, clock, "create"));
  }

  async close(): Promise<void> {
    for (const accounts of this.#all.splice(0)) await accounts.close();
    await this.registry.close();
    await this.state.remove();
  }

  /** Opens a accounts, which is closed by `stop` or at the end. */
  async serve(): Promise<StateAccounts> {
    const accounts = await openAccounts(this.state.location, this.clock);
    this.#all.push(accounts);
    return accounts;
  }

  async stop(accounts: StateAccounts): Promise<void> {
    this.#all.splice(this.#all.indexOf(accounts), 1);
    await accounts.close();
  }

  /** Waits until the accounts gives a key this verdict. */
  expectSoon(accounts: StateAccounts, key: string, code: string): Promise<void> {
    return vi.waitFor(async () => {
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe(code);
    }, SOON);
  }

  async newKey(account: string): Promise<string> {
    return (await this.registry.createKey(account, null)).key;
  }

  /** Adds an account. Returns what its calls are counted for. */
  async account(name: string, tier: KeyTierName): Promise<Subject> {
    return `account:${(await this.registry.addAccount(name, tier, null)).account_id}`;
  }

  async usedBy(account: string): Promise<number | undefined> {
    return (await this.registry.usage(account))[0]?.used;
  }
}
