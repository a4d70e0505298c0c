/** The changes of a publish in its summary, in show, in diff and in the payloads. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { headJson, lines, quotesOf } from "../cli/small-market.ts";
import { CATALOG, desk, deskJson, temporaryFolder } from "./desk.ts";

const SESSIONS = ["2026-11-20T00Z", "2026-11-20T12Z", "2026-11-21T00Z", "2026-11-21T12Z"];
const REASON = "The source restated *a* | and b";

/** Four sessions of a, b and c, then their corrections; d has no level. */
async function market(): Promise<{ folder: string; store: string; correction: string }> {
  const folder = temporaryFolder();
  const store = join(folder, "x");
  writeFileSync(join(folder, "c.csv"), CATALOG);
  for (const [at, session] of SESSIONS.entries()) {
    const quotes = join(folder, `${at}.csv`);
    writeFileSync(quotes, quotesOf({ a: 10 + at, b: 20, c: 30 }));
    const catalog = at === 0 ? `--catalog ${join(folder, "c.csv")}` : "";
    const line = `publish ${catalog} --quotes ${quotes} --session ${session} --allow-sparse`;
    expect((await desk(line, store)).code).toBe(0);
  }
  const correction = join(folder, "correction.csv");
  const rows = ["a,10.5,2026-11-20T00Z,", "b,21,2026-11-20T12Z,", "c,,2026-11-21T00Z,withdrawn"];
  writeFileSync(correction, lines("id,spot_usd,session_utc,basis", ...rows));
  return { folder, store, correction };
}

test("corrections and a withdrawal at 00:00 and at 12:00 of past sessions", async () => {
  const { store, correction } = await market();
  const line = `publish --quotes ${correction} --session 2026-11-21T12Z --allow-sparse --accept series`;
  const refused = await desk(line, store);
  expect([refused.code, refused.err.match(/correction\.csv:\d/g)?.length]).toEqual([4, 3]);
  const dry = await deskJson(`${line} --revise "${REASON}" --dry-run`, store);
  const { code, out } = await desk(`${line} --revise "${REASON}"`, store);
  expect([code, out.split("\n")[4]]).toEqual([0, "Corrected  3 (a, b, c)"]);
  const told = [
    ["a", "2026-11-20T00:00:00.000Z", "10", "10.5"],
    ["b", "2026-11-20T12:00:00.000Z", "20", "21"],
    ["c", "2026-11-21T00:00:00.000Z", "30", null],
  ].map(([contract, session_utc, old_usd, new_usd]) => ({
    contract,
    session_utc,
    old_usd,
    new_usd,
  }));
  expect(dry.corrected).toEqual(told);
  expect((await deskJson("show", store)).manifest.corrected).toEqual(told);
  const shown = await desk("show", store);
  expect(shown.out).toMatch(/\nCorrected\n.*\na .* 10 +10\.5\nb .* 20 +21\nc .* 30 +-\n/);
  const numbers = told.map((item) => ({
    ...item,
    old_usd: Number(item.old_usd),
    new_usd: item.new_usd === null ? null : Number(item.new_usd),
    reason: REASON,
    corrected_in: "2026-11-21T12Z/r2",
    publication: 5,
  }));
  expect((await deskJson("diff head~1 head", store)).corrected).toEqual(numbers);
  expect((await deskJson("diff head head~1", store)).corrected).toEqual([]);
  expect((await desk("diff head~1 head", store)).out).toContain("\nCorrected\n");
  const folder = new FolderStore(store);
  expect(await headJson(folder, "corrections.json")).toEqual(numbers);
  for (const [at, id] of ["a", "b", "c"].entries()) {
    const { contract: _contract, ...listed } = numbers[at] as (typeof numbers)[number];
    const payload = await headJson(folder, `pro/contracts/${id}.json`);
    expect(payload.corrections).toEqual([listed]);
  }
});

test("--summary: Markdown for a dry run, a publish, and nothing to do", async () => {
  const { folder, store, correction } = await market();
  const file = join(folder, "summary.md");
  writeFileSync(file, "an earlier summary, longer than the new one\n".repeat(100));
  const line = `publish --quotes ${correction} --session 2026-11-21T12Z --allow-sparse --accept series --summary ${file}`;
  const headlines: string[] = [];
  const bodies: string[] = [];
  for (const option of ["--dry-run", "--json", ""]) {
    expect((await desk(`${line} --revise "${REASON}" ${option}`, store)).code).toBe(0);
    const text = readFileSync(file, "utf8");
    headlines.push(text.split("\n")[0] ?? "");
    bodies.push(text.slice(text.indexOf("\n")));
  }
  expect(headlines).toEqual([
    "## Dry run: would publish 2026-11-21T12Z/r2; nothing was written",
    "## Published 2026-11-21T12Z/r2 as publication 5",
    "## Nothing to do: 2026-11-21T12Z/r2 is the head and holds the same",
  ]);
  expect(bodies[0]).toBe(bodies[1]);
  expect(bodies[1]).toBe(bodies[2]);
  const body = bodies[1] as string;
  expect(body).toContain("\nReason: The source restated \\*a\\* \\| and b\n");
  expect(body).toContain("\n| what | count |\n| --- | --- |\n| contracts | 4 |\n");
  expect(body).toContain("\n| without\\_level | 1 |\n");
  // a is 13 after 11 a day before; b is 20 after 21.
  expect(body).toContain(
    "\n### Largest moves in 24 hours\n\n| id | spot_usd | chg_24h_pct |\n| --- | --- | --- |\n| a | 13 | 18.18 |\n| b | 20 | -4.76 |\n\n",
  );
  expect(body).toContain("\n| c | 2026-11-21T00:00:00.000Z | 30 | none |\n");
  expect(body).not.toContain("### Dropped");
});

test("--summary with a carried and a dropped contract, and to a file that cannot be written", async () => {
  const { folder, store } = await market();
  const file = join(folder, "summary.md");
  const quotes = join(folder, "few.csv");
  writeFileSync(quotes, "id,spot_usd,session_utc\nb,22,\nc,30,2026-11-22T00Z\n");
  const line = `publish --quotes ${quotes} --session 2026-11-22T12Z --allow-sparse`;
  const nowhere = await desk(`${line} --summary ${folder}/none/s.md`, store);
  expect([nowhere.code, nowhere.err]).toEqual([2, expect.stringContaining("--summary")]);
  expect(
    (await deskJson("ls", store)).publications.filter(({ head = false }) => head),
  ).toMatchObject([{ number: 4 }]);
  expect((await desk(`${line} --max-carry-days 0 --summary ${file}`, store)).code).toBe(0);
  expect(readFileSync(file, "utf8")).toMatch(
    /\n### Dropped\n\n.*\n.*\n\| a \| 2026-11-21T12:00:00.000Z \| 2026-11-21 \|\n/,
  );
  writeFileSync(quotes, "id,spot_usd\na,14\nb,22\n");
  const next = `publish --quotes ${quotes} --session 2026-11-22T12Z --allow-sparse --accept series --revise back`;
  expect((await desk(`${next} --summary ${file}`, store)).code).toBe(0);
  expect(readFileSync(file, "utf8")).toContain(
    "\n### Carried\n\n| id | session_utc | as_of |\n| --- | --- | --- |\n| c | 2026-11-22T00:00:00.000Z | 2026-11-22 |\n",
  );
});
