/**
 * A store that was published with fewer tiers, under a program that has one more. That program is this one
 * with another row in its table of tiers.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { chipboard, outputOf, serve } from "../program/program.ts";

const API = "/api/public/v1";
const ROOT = join(import.meta.dirname, "../..");

/** A copy of the program with the tier `team`, which offers what Pro does, after the tier `below`. */
function withTeamAbove(below: "starter" | "pro", folder: string): string {
  const place = join(folder, "program");
  for (const name of ["bin", "clients/python/chipboard_client", "src", "package.json"]) {
    cpSync(join(ROOT, name), join(place, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
  const path = join(place, "src/market/tier.ts");
  const text = readFileSync(path, "utf8");
  const [row = ""] = /^ {2}pro: \{.*?^ {2}\},\n/ms.exec(text) ?? [];
  const team = row.replace("pro:", "team:").replace('"pro"', '"team"').replace('"Pro"', '"Team"');
  const changed = text
    .replace(`"${below}"`, `"${below}", "team"`)
    .replace(row, below === "pro" ? row + team : team + row);
  writeFileSync(path, changed);
  return join(place, "bin/chipboard.ts");
}

describe.each(["starter", "pro"] as const)("a tier above %s", (below) => {
  test("is added to a published store: all of it stays whole, and is continued", async () => {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-tier-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const script = withTeamAbove(below, folder);
    const at = (now: string) => ({ cwd: folder, env: { CHIPBOARD_NOW: now } });
    const store = ["--store", "store"];
    const old = (line: string, now: string) => outputOf([...line.split(" "), ...store], at(now));
    const say = (line: string, now = "2026-11-22T00:10:00Z") =>
      outputOf(line.split(" "), { ...at(now), script });
    const sayOf = (line: string, now?: string) => say(`${line} --store store`, now);
    writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
    for (const usd of [10, 11, 12, 13]) {
      writeFileSync(join(folder, `${usd}.csv`), quotesOf({ a: usd, b: 5 }));
    }
    writeFileSync(
      join(folder, "closes.csv"),
      "id,date,close_usd\na,2025-11-20,8\nb,2025-11-20,5\n",
    );
    await old(
      "publish --catalog c.csv --closes closes.csv --quotes 10.csv",
      "2026-11-21T00:05:00Z",
    );
    await old("publish --quotes 11.csv", "2026-11-21T12:05:00Z");

    const keys: Record<string, string> = {};
    for (const tier of ["starter", "team", "pro"]) {
      await say(`accounts add ${tier} --tier ${tier} --state state`);
      keys[tier] = (await say(`keys create ${tier} --state state`)).split("\n")[0] as string;
    }
    /** What the new program answers: the status, and the session or the code of the refusal. */
    async function answers(
      paths: Readonly<Record<string, readonly string[]>>,
      checked: Readonly<Record<string, number>> = {},
    ): Promise<string[]> {
      const now = at("2026-11-22T00:10:00Z");
      const serving = await serve([...store, "--state", "state"], { ...now, script });
      const found: string[] = [];
      for (const [path, tiers] of Object.entries(paths)) {
        for (const tier of tiers) {
          const key = keys[tier];
          const answer = await fetch(`${serving.url}${API}${path}`, {
            headers: key === undefined ? {} : { "x-api-key": key },
          });
          const refusal = /"code":"(\w+)"/.exec(await answer.text())?.[1] ?? "";
          const session = answer.headers.get("x-session-utc")?.slice(0, 13) ?? refusal;
          found.push(`${tier} ${path} ${answer.status} ${session}`);
        }
      }
      for (const page of ["/", "/plans", "/guide", "/docs", "/indices", "/openapi.json"]) {
        const { status } = await fetch(serving.url + page);
        expect([page, status]).toEqual([page, 200]);
      }
      for (const [tier, expected] of Object.entries(checked)) {
        const env = { ...now.env, CHIPBOARD_KEY: keys[tier] as string };
        const { code } = await chipboard(["check", serving.url], { env, script });
        expect([tier, code]).toEqual([tier, expected]);
      }
      expect(await serving.end()).toBe(0);
      return found;
    }

    // What the older program published: verified, shown, compared, served.
    expect(await sayOf("snapshots verify --all")).toContain("2 snapshots");
    expect(JSON.parse(await sayOf("snapshots show --json"))).toMatchObject({
      index: { level: expect.any(Number) },
      indices: expect.any(Array),
      largest_moves: expect.any(Array),
    });
    expect(JSON.parse(await sayOf("snapshots diff head~1 head --json"))).toMatchObject({
      repriced: [{ id: "a", old_usd: 10, new_usd: 11 }],
      index: { old_level: expect.any(Number), new_level: expect.any(Number) },
    });
    const before = await answers(
      {
        "/prices": ["free", "starter", "pro", "team"],
        "/prices/a": ["team"],
        "/indices": ["team"],
        "/history.csv?ids=a": ["team"],
        "/index?ids=a,b&weights=50,50": ["team"],
        "/sums": ["pro", "team"],
        "/publications": ["free"],
        "/prices?publication=1": ["starter", "pro", "team"],
      },
      { pro: 0, team: 2 },
    );
    expect(before).toEqual([
      "free /prices 200 2026-11-21T00",
      "starter /prices 200 2026-11-21T00",
      "pro /prices 200 2026-11-21T12",
      "team /prices 404 not_in_snapshot",
      "team /prices/a 404 not_in_snapshot",
      "team /indices 404 not_in_snapshot",
      "team /history.csv?ids=a 404 not_in_snapshot",
      "team /index?ids=a,b&weights=50,50 404 not_in_snapshot",
      "pro /sums 200 2026-11-21T12",
      "team /sums 404 not_in_snapshot",
      "free /publications 200 ",
      "starter /prices?publication=1 200 2026-11-20T12",
      "pro /prices?publication=1 200 2026-11-21T00",
      "team /prices?publication=1 404 not_in_snapshot",
    ]);

    // The newer program continues the store, and goes back.
    await sayOf("publish --quotes 12.csv", "2026-11-22T00:05:00Z");
    expect(await rootsOf(3)).toEqual(["free", "starter", "team", "pro"].toSorted());
    expect(await sayOf("snapshots verify --all")).toContain("3 snapshots");
    expect(JSON.parse(await sayOf("snapshots diff head~1 head --json"))).toMatchObject({
      repriced: [{ id: "a", old_usd: 11, new_usd: 12 }],
      index: { old_level: expect.any(Number), new_level: expect.any(Number) },
    });
    const after = await answers(
      {
        "/prices": ["free", "starter", "pro", "team"],
        "/history.csv?ids=a": ["team"],
        "/prices?publication=2": ["pro", "team"],
      },
      { pro: 0, team: 0 },
    );
    expect(after).toEqual([
      "free /prices 200 2026-11-21T12",
      "starter /prices 200 2026-11-21T12",
      "pro /prices 200 2026-11-22T00",
      "team /prices 200 2026-11-22T00",
      "team /history.csv?ids=a 200 2026-11-22T00",
      "pro /prices?publication=2 200 2026-11-21T12",
      "team /prices?publication=2 404 not_in_snapshot",
    ]);
    await sayOf("snapshots rollback 2026-11-21T12Z/r1 --reason wrong");
    expect(await rootsOf(4)).toEqual(["free", "pro", "starter"]);
    await say("snapshots copy store copy");
    expect(await say("snapshots verify --all --store copy")).toContain("3 snapshots");
    expect(await answers({ "/prices": ["pro", "team"] })).toEqual([
      "pro /prices 200 2026-11-21T12",
      "team /prices 404 not_in_snapshot",
    ]);
    await sayOf("publish --quotes 13.csv --revise again", "2026-11-22T00:07:00Z");

    // The older program says why it cannot go on.
    expect(await chipboard(["snapshots", "ls", ...store], { cwd: folder })).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('was published by a newer chipboard: it has "roots.team"'),
    });

    async function rootsOf(number: number): Promise<string[]> {
      const path = join(folder, `store/publications/000000000${number}.json`);
      return Object.keys(JSON.parse(readFileSync(path, "utf8")).roots).toSorted();
    }
  });
});
