/**
 * What every released version wrote is read by this one: its store is whole, its answers are the same, live and old,
 * and its log goes on. The same is shown of what this version writes, so that its store can be frozen when it is
 * released (`freeze.ts`).
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROGRAM } from "../../src/lib/version.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import type { Subject } from "../../src/ports/state.ts";
import { openAccounts, withRegistry } from "../../src/state/open.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { inProcess } from "../cli/run.ts";
import { PythonClient } from "../guide/python-client.ts";
import { programUnder, run } from "../guide/programs.ts";
import { serve as serveProgram } from "../program/program.ts";
import { startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { validateAnswer } from "../http/recorder.ts";
import { testWith } from "../http/needed-tools.ts";
import { TIERS, type TierName } from "../../src/market/tier.ts";
import { answerTo, ASKED_AT, FILES, freeze, releases, type Answer } from "./frozen-release.ts";

const API = "/api/public/v1";
const HEAD = "2026-11-21T00Z/r1";
const frozen = await releases();

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-released-"));
  for (const version of frozen) {
    await cp(join(import.meta.dirname, version), join(folder, version), { recursive: true });
  }
  await freeze(join(folder, "this version"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Of a basket with a part without a base, 0.2.0 left out these figures of all parts; later versions tell them. */
const withoutUntold = (answer: object): object =>
  JSON.parse(JSON.stringify(answer), (name, value) =>
    value === null && ["relative", "contribution_24h_pct"].includes(name) ? undefined : value,
  );

/**
 * Answers that differ from 0.2.0 on purpose: an id that the contract got later leads to its id in the old
 * snapshot, and a basket says that a delisted contract is delisted.
 */
function since020(address: string, answer: Omit<Answer, "tier" | "path">): object {
  if (answer.code !== "unknown_contract") return answer;
  if (/\/prices\/ddr5-16gb-spot\?(?:publication|as_of)=/.test(address)) return { status: 308 };
  return address.endsWith("?ids=n3-wafer,nor-old&weights=3,1")
    ? { status: 400, code: "not_on_board" }
    : answer;
}

test("the version that is in package.json is frozen", () => {
  // A development version is none yet.
  const [version = "", isDevelopment = false] = PROGRAM.version.split("-");
  expect([version, frozen.includes(version)]).toEqual([version, isDevelopment === false]);
});

describe.each([...frozen, "this version"])("%s", (version) => {
  const path = (name: string): string => join(folder, version, name);
  let answers: Answer[];
  let proxy: TestProxy;
  beforeAll(async () => {
    const lines = String(await readFile(path(FILES.answers))).trimEnd();
    answers = lines.split("\n").map((line) => JSON.parse(line));
    proxy = await serve(FILES.store, ASKED_AT, FILES.publicKey);
  });
  afterAll(() => proxy.close());

  async function serve(store: string, now: string, ...keys: string[]): Promise<TestProxy> {
    const texts = await Promise.all(keys.map((name) => readFile(path(name), "utf8")));
    return startTestProxy({
      store: new FolderStore(path(store)),
      clock: new TestClock(Date.parse(now)),
      verifyKeys: texts.flatMap((text) => parseVerifyKeys(text, "a public key")),
    });
  }

  const keyOf = (by: TestProxy, tier: TierName): string | undefined =>
    tier === "free" ? undefined : by[tier];

  /** Runs `chipboard LINE`, and returns its output. Words with an @ are files of the release. */
  async function chipboard(line: string, now = ASKED_AT): Promise<string> {
    const words = line.split(" ").map((word) => word.replace(/^@(.*)/, (_, name) => path(name)));
    const { code, stdout, stderr } = await inProcess(words, { env: { CHIPBOARD_NOW: now } });
    expect([line, code], stderr).toEqual([line, 0]);
    return stdout;
  }

  /** The proxy gives these answers, in this coding. */
  async function gives(
    by: TestProxy,
    which: (answer: Answer) => boolean,
    coding?: string,
  ): Promise<void> {
    const asked = answers.filter(which);
    expect(asked.length).toBeGreaterThan(50);
    for (const { tier, path: address, ...answer } of asked) {
      const now = await answerTo(by.url + address, keyOf(by, tier), coding);
      const expected = version === "0.2.0" ? withoutUntold(since020(address, answer)) : answer;
      expect([tier, address, now]).toMatchObject([tier, address, expected]);
    }
  }

  test("every byte is whole, and every entry is signed", async () => {
    const verify = "snapshots verify --all --store @store --json --verify-key @signing.pub";
    const found = JSON.parse(await chipboard(verify));
    expect(found).toMatchObject({ damages: [], entries: 6 });
    expect([found.checked.length, found.pruned.length]).toEqual([3, 1]);
    expect(found.signatures).toHaveLength(6);
  });

  test("its answers are those that its own proxy gave, live and old", () =>
    gives(proxy, () => true));

  const hasHistory = version !== "0.2.0";

  if (hasHistory)
    test("its restatement is told", async () => {
      const { json } = await proxy.get(`${API}/indices/composite`, { key: proxy.pro });
      const reason = "GDDR7 joins with its history";
      expect(json.series.restatements).toMatchObject([{ publication: 2, reason }]);
    });

  test("gzip-coded as well", () => gives(proxy, ({ status }) => status === 200, "gzip"));

  test("every answer in JSON is what the document of this version says", async () => {
    let valid = 0;
    for (const { tier, path: address, status, sha256, json: computed } of answers) {
      if (status !== 200) continue;
      const { json, raw, headers } = await proxy.get(
        address,
        tier === "free" ? {} : { key: proxy[tier] },
      );
      if (headers["content-type"] !== "application/json") continue;
      // The bytes that were recorded, or the value that was computed then.
      if (sha256 !== undefined) expect([address, sha256Hex(raw)]).toEqual([address, sha256]);
      validateAnswer(address, computed ?? json);
      valid += 1;
    }
    expect(valid).toBeGreaterThan(50);
  });

  test("check proves its answers, live and old", async () => {
    const proven: [TierName, string][] = [
      ["free", "/prices"],
      ["starter", "/history.csv"],
      ["starter", "/export.csv?publication=2"],
      ["pro", "/prices/tlc-1tb"],
      ["pro", "/levels.csv?publication=3"],
    ];
    for (const [tier, address] of proven) {
      const key = keyOf(proxy, tier);
      const withKey = key === undefined ? "" : ` --key ${key}`;
      const said = await chipboard(
        `check ${proxy.url}${API}${address} --verify-key @signing.pub${withKey}`,
      );
      expect(said).not.toContain("not proven  answer");
      expect(said).toMatch(/^proven +signature/m);
    }
  });

  testWith("python3")(
    "a copy by client.py is its history, and its figures come again",
    async () => {
      for (const tier of ["starter", "pro"] as const) {
        const client = await PythonClient.download(proxy.url, proxy[tier]);
        const [, copied] = await client.sync();
        const { text } = await proxy.get(`${API}/history.csv`, { key: proxy[tier] });
        expect(String(copied)).toBe(text);
        await client.remove();
      }
      const program = programUnder("Calculate it again", proxy.url, "methodology.md");
      for (const entry of ["2", "3", "6"]) {
        const args = ["-B", "-W", "error", "-c", program, entry];
        const { code, stdout, stderr } = await run("python3", args, folder, proxy.pro);
        expect([code, stderr]).toEqual([0, ""]);
        // The predecessor of the first two is pruned, and their series go on from it.
        const said = stdout.replace(
          /^.* series: not calculated, because publication 1 is gone\n/gm,
          "",
        );
        expect(said).toMatch(/^\d{2,} figures compared, 0 differ\n$/);
      }
    },
  );

  test("its snapshots are listed, shown, compared and copied", async () => {
    expect(await chipboard("snapshots ls --store @store")).toContain(HEAD);
    expect(await chipboard("snapshots show 2026-11-20T00Z/r1 --store @store")).toContain("nor-old");
    const compared = await chipboard("snapshots diff head~1 head --store @store");
    expect(compared).toContain("ddr5-16gb-spot");
    await chipboard("snapshots copy @store @copy");
    const verify = "snapshots verify --all --store @copy --verify-key @signing.pub";
    expect(await chipboard(verify)).toMatch(/6 entries/);
  });

  test("its inputs, published again, are nothing to do", async () => {
    await chipboard("snapshots inputs --store @store --out @inputs");
    const inputs = await readdir(path("inputs"));
    const given = inputs.map((name) => {
      const [, kind = ""] = /^\d+-(\w+)-/.exec(name) ?? [];
      return `--${kind} @inputs/${name}`;
    });
    await cp(path(FILES.store), path("again"), { recursive: true });
    const line = `publish --session 2026-11-21T00Z --store @again ${given.join(" ")}`;
    expect(await chipboard(line)).toContain("Nothing to do");
  });

  test("its state is served as it is: no key and no call is lost", async () => {
    await cp(path(FILES.state), path("kept"), { recursive: true });
    const keys: Record<string, string> = JSON.parse(await readFile(path(FILES.keys), "utf8"));
    const nowMs = Date.parse(ASKED_AT);
    const accounts = await openAccounts(path("kept"), new TestClock(nowMs));
    for (const tier of ["starter", "pro"] as const) {
      const verdict = await accounts.verdicts.authenticate(String(keys[tier]));
      expect(verdict).toMatchObject({ refusal: null, account: tier, tier: TIERS[tier] });
      const used = await accounts.counts.used(verdict.subject as Subject, nowMs);
      expect(used).toBeGreaterThanOrEqual(3);
      await accounts.counts.take(verdict.subject as Subject, null, nowMs);
      expect(await accounts.counts.used(verdict.subject as Subject, nowMs)).toBe(used + 1);
    }
    await accounts.close();
    // Of 0.2.0 it has no log of accounts, and no counts by day.
    const { actions, days } = await withRegistry(
      path("kept"),
      new TestClock(nowMs),
      "use",
      async (registry) => {
        const hadLog = (await registry.log("pro")).length;
        await registry.setAccount("pro", { note: "upgraded" });
        const entries = await registry.log("pro");
        return {
          actions: entries.slice(hadLog).map(({ action, after }) => [action, after]),
          days: (await registry.calls("pro", "day")).map(({ day, used }) => [day, used > 0]),
        };
      },
    );
    expect(actions).toEqual([["accounts set", { note: "upgraded" }]]);
    expect(days).toEqual([[ASKED_AT.slice(0, 10), true]]);
  });

  // 0.2.0 kept neither changes nor links when it was frozen.
  if (hasHistory)
    test("its links answer, and its accounts have their history", async () => {
      await cp(path(FILES.state), path("linked"), { recursive: true });
      const { link } = JSON.parse(await readFile(path(FILES.keys), "utf8"));
      const env = { CHIPBOARD_STATE: path("linked"), CHIPBOARD_NOW: ASKED_AT };
      const linked = await serveProgram(["--store", path(FILES.store)], { env });
      try {
        expect(await (await fetch(linked.url + link)).text()).toMatch(
          /^session_utc,contract_id,ticker,/,
        );
      } finally {
        await linked.end();
      }
      const log = JSON.parse(await chipboard("accounts log --state @linked --json"));
      const actions = log.map(({ action }: { action: string }) => action);
      expect(new Set(actions)).toEqual(
        new Set([
          "accounts add",
          "accounts rm",
          "accounts set",
          "keys create",
          "keys resume",
          "keys revoke",
          "keys rotate",
          "keys suspend",
          "links create",
        ]),
      );
    });

  test("its log goes on: a publish, a rollback, a correction and a prune, under another key", async () => {
    await cp(path(FILES.store), path("next"), { recursive: true });
    await writeFile(
      path("next.csv"),
      "id,spot_usd\nddr5-16gb-spot,3.2\ntlc-1tb,119\nn3-wafer,11200\n",
    );
    await chipboard("keys signing --out @new.pem");
    const keys = "--verify-key @signing.pub --verify-key @new.pem.pub";
    const signed = `--store @next --sign-key @new.pem ${keys}`;
    const noon = "2026-11-21T12:05:00Z";
    await chipboard(`publish --quotes @next.csv ${signed}`, noon);
    const after = await serve("next", noon, FILES.publicKey, "new.pem.pub");
    try {
      expect((await after.get("/readyz")).json).toMatchObject({ publication: 7, store: "ok" });
      await gives(after, (answer) => /publication=|as_of=/.test(answer.path));
    } finally {
      await after.close();
    }
    await chipboard(`snapshots rollback 2026-11-21T00Z/r1 --reason wrong ${signed}`, noon);
    await chipboard(`publish --quotes @next.csv --revise again ${signed}`, noon);
    const pruned = "snapshots prune --keep-days 0";
    await chipboard(`${pruned} ${signed}`, "2026-11-23T12:05:00Z");
    const verify = `snapshots verify --all --store @next --json ${keys}`;
    expect(JSON.parse(await chipboard(verify, noon))).toMatchObject({ damages: [] });
  });
});
