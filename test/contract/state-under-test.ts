/** A state under test: registry, gatekeepers, and a clock that only a test moves. */
import { expect, vi } from "vitest";
import type { KeyTierName } from "../../src/market/tier.ts";
import type { Subject } from "../../src/ports/state.ts";
import type { KeyVerdict } from "../../src/ports/accounts.ts";
import { openGatekeeper } from "../../src/state/open.ts";
import { openRegistry, type OpenRegistry } from "./open-registry.ts";
import type { Gatekeeper } from "../../src/state/gatekeeper.ts";

/** One empty state for one test. */
export interface StateUnderTest {
  readonly location: string;
  /** Makes the state fail for all gatekeepers; its data stays. */
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

/** "ok", or the code of the refusal. */
export const codeOf = (verdict: KeyVerdict): string => verdict.refusal ?? "ok";

/** The registry and the gatekeepers of the state. They are closed when the test ends. */
export class StateInUse {
  readonly state: StateUnderTest;
  readonly clock: { nowMs: number; now(): number };
  /** A test that closes it must open another one. */
  registry: OpenRegistry;
  readonly #gatekeepers: Gatekeeper[] = [];

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
    for (const gatekeeper of this.#gatekeepers.splice(0)) await gatekeeper.close();
    await this.registry.close();
    await this.state.remove();
  }

  /** Opens a gatekeeper, which is closed by `stop` or at the end. */
  async serve(): Promise<Gatekeeper> {
    const gatekeeper = await openGatekeeper(this.state.location, this.clock);
    this.#gatekeepers.push(gatekeeper);
    return gatekeeper;
  }

  async stop(gatekeeper: Gatekeeper): Promise<void> {
    this.#gatekeepers.splice(this.#gatekeepers.indexOf(gatekeeper), 1);
    await gatekeeper.close();
  }

  /** Waits until the gatekeeper gives a key this verdict. */
  expectSoon(gatekeeper: Gatekeeper, key: string, code: string): Promise<void> {
    return vi.waitFor(async () => {
      expect(codeOf(await gatekeeper.verdicts.authenticate(key))).toBe(code);
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
