/** The gate `clock`: a feed's server says another time than the machine. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Ran } from "../program/program.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { contentOf, quotesOf } from "./small-market.ts";
import { CATALOG, inputFolder, jsonIn, QUOTES, runIn } from "./publish-folder.ts";

const MINUTE_S = 60;
const WILD = quotesOf({ a: 99, b: 5 });

/** Answers with quotes. `/AHEAD/AGE`: how many seconds its Date is ahead of the machine, and its Age; `-`: none. */
let server: Server;
let address: string;
beforeAll(async () => {
  server = createServer(({ url = "" }, response) => {
    const [, ahead = "", age = "-"] = url.split("/");
    response.sendDate = false;
    if (ahead !== "-") {
      response.setHeader("date", new Date(Date.now() + Number(ahead) * 1_000).toUTCString());
    }
    if (age !== "-") response.setHeader("age", age);
    response.end(url.endsWith("wild") ? WILD : url.endsWith("catalog") ? CATALOG : QUOTES);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

let folder: string;
beforeEach(() => {
  folder = inputFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The program's clock is moved to 2026-11-21 in all of these; the machine's is not. */
const publish = (path: string, more = ""): Promise<Ran> =>
  runIn(folder, `publish --catalog c.csv --quotes ${address}/${path} --store x${more}`);

describe("a time that passes", () => {
  test.each([
    ["the machine's", "0"],
    ["four minutes ahead", String(4 * MINUTE_S)],
    ["four minutes behind", String(-4 * MINUTE_S)],
    ["a day behind, kept in a cache for a day", `${-1440 * MINUTE_S}/${1440 * MINUTE_S}`],
    ["none", "-"],
    ["an age without a date", "-/900"],
  ])("%s", async (_, path) => {
    expect((await publish(path)).code).toBe(0);
    expect(jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/manifest.json").judgements).toEqual([]);
  });

  test("a text that is no date", async () => {
    expect((await publish("no/-")).code).toBe(0);
  });
});

describe("more than five minutes apart", () => {
  test.each([
    ["ahead", String(-60 * MINUTE_S), 60],
    ["behind", String(10 * MINUTE_S), 10],
    ["behind", `0/${1440 * MINUTE_S}`, 1440],
  ])("%s: 3, both times are named, and nothing is written", async (side, path, minutes) => {
    for (const more of [" --dry-run", ""]) {
      const { code, stdout, stderr } = await publish(path, more);
      expect([code, stdout]).toEqual([3, ""]);
      const told = stderr.slice(stderr.indexOf("error:")).split("\n");
      expect(told).toEqual([
        "error: Refused: 1 finding; nothing was written",
        expect.stringMatching(
          `^  The machine's clock said 20\\S+Z when ${address}/${path} said 20\\S+Z: ` +
            `it is (?:${minutes}|${minutes + 1}) minutes ${side}, expected at most 5$`,
        ),
        "  If the machine's clock is right, publish with --accept clock",
        "",
      ]);
    }
    expect(await contentOf(new FolderStore(join(folder, "x")))).toEqual({});
  });

  test("--accept clock lets it through, and the manifest and the summary have it", async () => {
    const path = String(-60 * MINUTE_S);
    const { code, stdout } = await publish(path, " --accept clock --by B --why W");
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^Judgement {2}clock: 6[01] minutes apart, limit 5$/m),
    ]);
    expect(jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/manifest.json").judgements).toEqual([
      { gate: "clock", contract: null, measured: expect.any(Number), limit: 5, by: "B", why: "W" },
    ]);
  });

  test("each server that says another time is named, and all gates refuse in one go", async () => {
    expect((await publish("0", " --session 2026-11-20T12Z")).code).toBe(0);
    const sources = `--catalog ${address}/600/-/catalog --quotes ${address}/-600/-/wild`;
    const line = `publish ${sources} --session 2026-12-01T00Z --store x`;
    const env = { CHIPBOARD_NOW: "2026-12-01T00:05:00Z" };
    const { code, stderr } = await runIn(folder, line, { env });
    const told = stderr.slice(stderr.indexOf("error:")).trim().split("\n  ");
    expect([code, told]).toEqual([
      3,
      [
        "error: Refused: 4 findings; nothing was written",
        expect.stringMatching(/^a moves by 800 percent/),
        expect.stringMatching(/^2026-12-01T00Z is 21 sessions after the head/),
        expect.stringMatching(/ \S+\/catalog said .*: it is 1[01] minutes behind/),
        expect.stringMatching(/ \S+\/wild said .*: it is 1[01] minutes ahead/),
        expect.stringContaining("break"),
        "If the moves are right, publish with --accept moves:a",
        "If the clock is right, publish with --accept gap",
        "If the machine's clock is right, publish with --accept clock",
      ],
    ]);
    const accepted = await runIn(folder, `${line} --accept moves:a gap clock`, { env });
    expect(accepted.code).toBe(0);
  });
});

test("--accept clock of a right one: 2", async () => {
  const { code, stderr } = await publish("0", " --accept clock");
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("--accept clock: the gate clock refuses nothing"),
  ]);
});
