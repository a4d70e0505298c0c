/** The shared state of a world: accounts with their keys, in a folder that is thrown away. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../src/lib/clock.ts";
import type { StateDriver, Subject } from "../../src/ports/state.ts";
import { monthOf } from "../../src/ports/month.ts";
import { openDriver } from "../../src/state/open.ts";
import { Registry } from "../../src/state/registry.ts";
import { TIERS } from "../../src/market/tier.ts";

/** How many calls the account of Starter has left. */
export const CALLS_LEFT = 6;
const KEPT_MS = 400 * 86_400_000;

export class WorldState {
  readonly #folder: string;
  readonly #drivers: StateDriver[] = [];
  /** The keys by the names that traces have. */
  readonly keys: Readonly<Record<"starter" | "revoked" | "pro", string>>;
  /** The subjects of the accounts. */
  readonly subjects: Readonly<Record<"starter" | "pro", Subject>>;
  readonly month: string;

  private constructor(
    folder: string,
    keys: WorldState["keys"],
    subjects: WorldState["subjects"],
    month: string,
  ) {
    this.#folder = folder;
    this.keys = keys;
    this.subjects = subjects;
    this.month = month;
  }

  static async create(clock: Clock): Promise<WorldState> {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-world-"));
    const driver = await openDriver(folder, "create");
    const registry = new Registry(driver, clock, "world");
    const starter = await registry.addAccount("starter", "starter", null);
    const pro = await registry.addAccount("pro", "pro", null);
    const keyOf = async (account: string): Promise<string> =>
      (await registry.createKey(account, null)).key;
    const keys = {
      starter: await keyOf("starter"),
      revoked: await keyOf("starter"),
      pro: await keyOf("pro"),
    };
    const subjects = {
      starter: `account:${starter.account_id}`,
      pro: `account:${pro.account_id}`,
    } as const;
    const month = monthOf(clock.now());
    const used = (TIERS.starter.callsPerMonth as number) - CALLS_LEFT;
    await driver.write(
      await driver.version(),
      [],
      [{ subject: subjects.starter, month, used, keptMs: KEPT_MS }],
    );
    await driver.close();
    return new WorldState(folder, keys, subjects, month);
  }

  /** The state as another process has it. */
  async open(purpose: "serve" | "use"): Promise<StateDriver> {
    const driver = await openDriver(this.#folder, purpose);
    this.#drivers.push(driver);
    return driver;
  }

  /** The calls of the account that the state holds: in the month in which the world began and in the next one. */
  async used(account: "starter" | "pro"): Promise<number> {
    const driver = await this.open("use");
    const next = monthOf(Date.parse(`${this.month}-01T00:00:00Z`) + 32 * 86_400_000);
    const subject = this.subjects[account];
    const [first = 0, second = 0] = await driver.used([
      { subject, month: this.month },
      { subject, month: next },
    ]);
    return first + second;
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers) await driver.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
