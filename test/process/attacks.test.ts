/**
 * Attacks on a signed store by plain file operations, while `serve` runs as a process: what it says before
 * and after a kill, what it serves, and what `snapshots verify` and `check` say as processes.
 * test/http/attacks.test.ts has more attacks.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/market.ts";
import { inProcess } from "../cli/run.ts";
import { FIRST, SECOND } from "../cli/signed.ts";
import { until } from "../cluster/fixture.ts";
import { chipboard, serve, type Serving } from "../program/program.ts";

const IDS = ["a", "b"];
const PRICES = "/api/public/v1/prices";
const TRUSTED = ["--verify-key", "signing.pem.pub"];
/** How a process ends, and what it says. */
type Said = readonly [code: number, words: RegExp];

let folder: string;
let key: string;
const at = (...path: readonly string[]): string => join(folder, ...path);

/** Publishes three entries, signed with these keys. */
async function build(store: string, usd: number, signers: readonly string[]): Promise<void> {
  for (const [number, signer] of signers.entries()) {
    const session = number === 0 ? FIRST : SECOND;
    const levels = Object.fromEntries(IDS.map((id) => [id, usd + number]));
    writeFileSync(at("quotes.csv"), quotesOf(levels));
    const feeds = ["--catalog", "catalog.csv", "--quotes", "quotes.csv", "--session", session];
    const more = number === 2 ? ["--revise", "Restated"] : [];
    await must("publish", ...feeds, ...more, "--store", store, "--sign-key", signer);
  }
}

async function must(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await inProcess(args, { cwd: folder });
  expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
  return stdout;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-attacks-"));
  writeFileSync(at("catalog.csv"), catalogOf(IDS));
  for (const name of ["signing.pem", "retired.pem"]) await must("keys", "signing", "--out", name);
  // The operator has replaced a key, which an attacker has found.
  await build("store", 10, ["retired.pem", "signing.pem", "signing.pem"]);
  await build("other", 20, ["signing.pem", "signing.pem", "signing.pem"]);
  await build("forged", 30, ["retired.pem", "retired.pem", "retired.pem"]);
  await must("accounts", "add", "large", "--tier", "pro", "--state", "state");
  key = (await must("keys", "create", "large", "--state", "state")).split("\n")[0] as string;
  await must("snapshots", "verify", "--store", "store", ...TRUSTED, "--remember", "seen");
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true }));

const entry = (store: string, number: number, kind = "json"): string =>
  at(store, `publications/000000000${number}.${kind}`);

function swapTiers(session: string): void {
  const [free, pro, aside] = ["free", "pro", "aside"].map((tier) => join(session, tier)) as [
    string,
    string,
    string,
  ];
  renameSync(free, aside);
  renameSync(pro, free);
  renameSync(aside, pro);
}

interface Attack {
  readonly name: string;
  readonly apply: (store: string) => void;
  readonly running: RegExp;
  /** What `check` says of the proxy that runs. */
  readonly checked: Said;
  readonly restarted: RegExp;
  /** The status of its answers then. */
  readonly status: number;
  readonly verified: RegExp;
  /** What `check` says of a proxy that trusts the store. */
  readonly trusted: RegExp;
}

const DAMAGED: Said = [0, /^not proven {2}service .*damaged/m];
const UNKNOWN = /0000000003\.json is not the entry that was read before/;
const REWRITTEN = /entry 3 of the log has the SHA-256 \w+, and the one that was served before has/;
const UNFIT = (number: number): RegExp =>
  new RegExp(`000000000${number}\\.sig does not fit entry ${number}: expected a signature by`);
const MISFIT = (number: number): RegExp =>
  new RegExp(`The signature of entry ${number} \\(.*\\) does not fit it`);
const SHORTER =
  /The log ends with entry 2, and an earlier check has seen entry 3: the log was cut off/;
const OTHER = /Entry 3 of the log has the SHA-256 \w+, and an earlier check has seen/;
const IS_OTHER: Said = [5, /GET .*\/log\/3 answers 500 internal/];

const ATTACKS: readonly Attack[] = [
  {
    name: "an older head, with the signature of another entry",
    apply: (store) => {
      const previous = createHash("sha256")
        .update(readFileSync(entry(store, 3)))
        .digest("hex");
      const older = JSON.parse(readFileSync(entry(store, 1), "utf8"));
      const rollback = { ...older, number: 4, action: "rollback", reason: "Back", previous };
      writeFileSync(entry(store, 4), JSON.stringify(rollback));
      cpSync(entry(store, 3, "sig"), entry(store, 4, "sig"));
    },
    running: UNFIT(4),
    checked: DAMAGED,
    restarted: UNFIT(4),
    status: 200,
    verified: UNFIT(4),
    trusted: MISFIT(4),
  },
  {
    name: "an entry changed",
    apply: (store) => {
      const text = readFileSync(entry(store, 3), "utf8");
      writeFileSync(entry(store, 3), text.replace("Restated", "Restored"));
    },
    running: UNKNOWN,
    checked: IS_OTHER,
    restarted: REWRITTEN,
    status: 503,
    verified: UNFIT(3),
    trusted: MISFIT(3),
  },
  {
    name: "the newest entry cut off",
    apply: (store) => ["json", "sig"].forEach((kind) => rmSync(entry(store, 3, kind))),
    running: /0000000003\.json is gone/,
    checked: [6, /GET .*\/log\/3 answers 404 not_published/],
    restarted: /the log ends with entry 2, and entry 3 was served before: the log was cut off/,
    status: 503,
    verified: SHORTER,
    trusted: SHORTER,
  },
  {
    name: "the whole log replaced by that of another store of the operator",
    apply: (store) => {
      rmSync(at(store), { recursive: true });
      cpSync(at("other"), at(store), { recursive: true });
    },
    running: UNKNOWN,
    checked: IS_OTHER,
    restarted: REWRITTEN,
    status: 503,
    verified: OTHER,
    trusted: OTHER,
  },
  {
    name: "the files of two tiers swapped",
    apply: (store) => {
      for (const name of [`${FIRST}/r1`, `${SECOND}/r2`]) swapTiers(at(store, "sessions", name));
    },
    running:
      /2026-11-20T12Z\/r1\/pro\/board\.json (is damaged: its SHA-256 is|has \d+ bytes, expected)/,
    // What is served is in memory, and proven.
    checked: [0, /^proven {6}memory/m],
    // The first that is read of those that are smaller, larger or of one tier only.
    restarted:
      /2026-11-21T00Z\/r2\/\S+ (is damaged: its SHA-256 is|has \d+ bytes, expected|is missing)/,
    status: 200,
    verified: /2026-11-21T00Z\/r2\/free\/board\.json has \d+ bytes, expected/,
    trusted: SHORTER,
  },
  {
    name: "the signature of another store by the same key",
    apply: (store) => cpSync(entry("other", 3, "sig"), entry(store, 3, "sig")),
    running: UNFIT(3),
    checked: [6, MISFIT(3)],
    restarted: UNFIT(3),
    status: 503,
    verified: UNFIT(3),
    trusted: MISFIT(3),
  },
  {
    name: "the key replaced: everything signed by the attacker, his public key beside it",
    apply: (store) => {
      rmSync(at(store), { recursive: true });
      cpSync(at("forged"), at(store), { recursive: true });
      cpSync(at("retired.pem.pub"), at(store, "signing.pem.pub"));
    },
    running: UNKNOWN,
    checked: IS_OTHER,
    restarted: REWRITTEN,
    status: 503,
    verified: UNFIT(3),
    trusted: MISFIT(3),
  },
];

test.concurrent.for(ATTACKS.map((attack, index) => ({ ...attack, index })))(
  "$name",
  { timeout: 600_000 },
  async (attack, { expect, onTestFinished }) => {
    const store = `store-${attack.index}`;
    const servings: Serving[] = [];
    onTestFinished(async () => {
      for (const serving of servings) await serving.end("SIGKILL");
    });
    const start = async (state: string, ...more: string[]): Promise<Serving> => {
      const places = ["--store", store, "--state", state, "--poll", "100ms"];
      const serving = await serve([...places, "--log-level", "warn", ...more], { cwd: folder });
      servings.push(serving);
      return serving;
    };
    const says = (serving: Serving, words: RegExp): Promise<void> =>
      until(() => words.test(serving.stderr()));
    const check = async ({ url }: Serving): Promise<{ code: number | null; said: string }> => {
      const args = ["check", url, ...TRUSTED, "--remember", `seen-${attack.index}`];
      const { code, stdout, stderr } = await chipboard(args, { cwd: folder });
      return { code, said: stdout + stderr };
    };
    for (const name of ["store", "state", "seen"]) {
      cpSync(at(name), at(`${name}-${attack.index}`), { recursive: true });
    }

    const running = await start(`state-${attack.index}`, ...TRUSTED);
    const before = await (await fetch(running.url + PRICES)).text();
    attack.apply(store);
    const old = `${running.url}${PRICES}?publication=1`;
    await (await fetch(old, { headers: { "x-api-key": key } })).text();
    await says(running, attack.running);
    expect(await (await fetch(running.url + PRICES)).text()).toBe(before);
    const found = await check(running);
    expect(found).toEqual({
      code: attack.checked[0],
      said: expect.stringMatching(attack.checked[1]),
    });
    const isSeen = !attack.name.startsWith("the files");
    const ready = await (await fetch(`${running.url}/readyz`)).json();
    expect(ready).toMatchObject({ publication: 3, store: isSeen ? "damaged" : "ok" });
    await running.end("SIGKILL");

    const again = await start(`state-${attack.index}`, ...TRUSTED);
    await says(again, attack.restarted);
    expect((await fetch(`${again.url}/readyz`)).status).toBe(attack.status);
    const served = await fetch(again.url + PRICES);
    expect(served.status).toBe(attack.status);
    if (attack.status === 200) {
      const snapshot = `${SECOND}/r${isSeen ? 2 : 1}`;
      expect(served.headers.get("x-snapshot")).toBe(snapshot);
    }
    await again.end();

    const verify = ["snapshots", "verify", "--store", store, "--remember", "seen", ...TRUSTED];
    const verified = await chipboard(verify, { cwd: folder });
    expect(verified).toMatchObject({ code: 6, stderr: expect.stringMatching(attack.verified) });
    const trusted = await check(await start(`trusting-${attack.index}`));
    expect(trusted).toEqual({ code: 6, said: expect.stringMatching(attack.trusted) });
  },
);
