/** `publish` as a process: options and variables, sources, exit codes, what it prints. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { catalogOf, lines, quotesOf } from "./market.ts";
import { chipboard, inProcess, type Ran, type RunOptions } from "./run.ts";

const CATALOG = catalogOf(["a", "b"]);
const QUOTES = quotesOf({ a: 11, b: 5 });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-cli-"));
  write("c.csv", CATALOG);
  write("q.csv", QUOTES);
  write("h.csv", lines("id,date,close_usd", "a,2026-11-19,10", "b,2026-11-19,5"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string | Uint8Array): void =>
  writeFileSync(join(folder, name), content);
const run = (line: string, options: RunOptions = {}): Promise<Ran> =>
  chipboard(line.split(" "), { cwd: folder, ...options });
const publish = (line: string, options: RunOptions = {}): Promise<Ran> =>
  run(`publish ${line}`, options);
// oxlint-disable-next-line typescript/no-explicit-any -- payloads are checked by what is read of them
const json = (path: string): any => JSON.parse(readFileSync(join(folder, path), "utf8"));
const files = (): string[] =>
  readdirSync(join(folder, "x"), { recursive: true }).map(String).toSorted();

describe("as the documentation writes it", () => {
  const LINE = "--catalog c.csv --closes h.csv --quotes q.csv --session 2026-11-21T00Z --store ./x";

  test("publishes, and again does nothing; --dry-run says what it would do", async () => {
    const dry = await publish(`${LINE} --dry-run`);
    expect([dry.code, dry.stdout.split("\n")[0]]).toEqual([
      0,
      "Dry run: would publish 2026-11-21T00Z/r1; nothing was written",
    ]);
    expect(readdirSync(folder)).not.toContain("x");

    const first = await publish(LINE);
    expect(first.code).toBe(0);
    expect(first.stdout).toBe(
      lines(
        "Published 2026-11-21T00Z/r1 as publication 1",
        "Board      2 memory and 0 semiconductor contracts of 2 in the catalog",
        "Levels     2 for the session; carried 0; dropped 0",
        "Corrected  nothing",
        expectedFiles(),
      ),
    );
    expect(first.stderr).toMatch(/^Reading 3\/3\nRendering (\d+)\/\1\nWriting (\d+)\/\2\n$/);

    const before = files();
    const again = await publish(`${LINE.replace("T00Z", "T00:00:00.000Z")} --json`);
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toMatchObject({
      outcome: "unchanged",
      snapshot: "2026-11-21T00Z/r1",
      publication: 1,
      identity: json("x/sessions/2026-11-21T00Z/r1/manifest.json").identity,
    });
    expect(files()).toEqual(before);
  });

  const expectedFiles = (): string => {
    const { files, counts } = json("x/sessions/2026-11-21T00Z/r1/manifest.json");
    const bytes = files.reduce((sum: number, file: { bytes: number }) => sum + file.bytes, 0);
    expect([counts.files, counts.bytes]).toEqual([files.length, bytes]);
    return `Files      ${files.length} of ${bytes} bytes in ./x/sessions/2026-11-21T00Z/r1/`;
  };
});

describe("options", () => {
  test("without --session and --store: the session the clock is in, ./snapshots", async () => {
    const env = { CHIPBOARD_NOW: "2026-11-21T17:29:00+05:30" };
    const { stdout } = await publish("--catalog c.csv --quotes q.csv", { env });
    expect(stdout).toMatch(/^Published 2026-11-21T00Z\/r1 as publication 1\n/);
    expect(readdirSync(join(folder, "snapshots/sessions"))).toEqual(["2026-11-21T00Z"]);
  });

  test("a session that has not begun, or is none; a clock that is none", async () => {
    const early = await publish(
      "--catalog c.csv --quotes q.csv --session 2026-11-21T12Z --store x",
    );
    expect([early.code, early.stderr]).toEqual([
      2,
      "error: --session 2026-11-21T12Z has not begun: the clock is in 2026-11-21T00Z\n",
    ]);
    const noon = await publish(
      "--catalog c.csv --quotes q.csv --session 2026-11-21T12Z --store x --dry-run",
      {
        env: { CHIPBOARD_NOW: "2026-11-21T12:00:00Z" },
      },
    );
    expect(noon.code).toBe(0);
    for (const text of ["2026-11-21", "2026-11-21T06Z", "tomorrow"]) {
      const { code, stderr } = await inProcess(["publish", "--session", text]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`argument '${text}' is invalid`)]);
    }
    const clock = await publish("--catalog c.csv --store x", { env: { CHIPBOARD_NOW: "noon" } });
    expect([clock.code, clock.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: CHIPBOARD_NOW "noon": expected an instant/),
    ]);
    expect(readdirSync(folder)).not.toContain("x");
  });

  test("every option as a variable", async () => {
    const env = {
      CHIPBOARD_CATALOG: "c.csv",
      CHIPBOARD_QUOTES: "q.csv",
      CHIPBOARD_CLOSES: "h.csv",
      CHIPBOARD_SESSION: "2026-11-20T12Z",
      CHIPBOARD_STORE: "./x",
      CHIPBOARD_ATTRIBUTION: "Levels: example",
      CHIPBOARD_MAX_MOVE: "60.5",
      CHIPBOARD_MIN_COVERAGE: "100",
      CHIPBOARD_MAX_CARRY_DAYS: "7",
      CHIPBOARD_ACCEPT_MOVES: "true",
      CHIPBOARD_ALLOW_SPARSE: "1",
      CHIPBOARD_REVISE: "First of all",
      CHIPBOARD_DRY_RUN: "false",
      CHIPBOARD_JSON: "yes",
    };
    const { code, stdout } = await run("publish", { env });
    expect([code, JSON.parse(stdout).outcome]).toEqual([0, "published"]);
    expect(json("x/sessions/2026-11-20T12Z/r1/manifest.json")).toMatchObject({
      attribution: "Levels: example",
      reason: "First of all",
      options: {
        max_move_pct: "60.5",
        min_coverage_pct: "100",
        max_carry_days: 7,
        accept_moves: true,
        allow_sparse: true,
      },
    });
    const dry = { ...env, CHIPBOARD_SESSION: "2026-11-21T00Z", CHIPBOARD_DRY_RUN: "1" };
    const planned = await run("publish --attribution Other", { env: dry });
    expect(JSON.parse(planned.stdout)).toMatchObject({ outcome: "planned", publication: null });
    const usage = await publish("--max-move many --json");
    expect([usage.code, JSON.parse(usage.stdout).error.exit_code]).toEqual([2, 2]);
    const failed = await run("publish --session 2026-11-20T00Z", { env });
    expect([failed.code, JSON.parse(failed.stdout).error.exit_code]).toEqual([4, 4]);
  });

  test.each([
    ["--max-move", "-1", "percentage"],
    ["--max-move", "many", "percentage"],
    ["--min-coverage", "100.1", "percentage from 0 to 100"],
    ["--max-carry-days", "1.5", "whole number of days"],
    ["--max-carry-days", "36501", "at most 36500 days"],
    ["--store", "ftp://x", "expected a folder or s3://bucket/prefix"],
    ["--s3-endpoint", "nowhere", "http(s) URL"],
    ["--sesion", "2026-11-21T00Z", "(Did you mean --session?)"],
  ])("%s %s: 2", async (option, value, expected) => {
    const { code, stdout, stderr } = await inProcess([
      "publish",
      "--catalog",
      join(folder, "c.csv"),
      option,
      value,
    ]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(option);
    expect(stderr).toContain(expected);
    expect(readdirSync(folder).toSorted()).toEqual(["c.csv", "h.csv", "q.csv"]);
  });

  test("nothing to publish, a stray word, standard input twice, an empty reason", async () => {
    for (const [args, expected] of [
      [["--store", "/nowhere"], "give --catalog, --quotes or --closes"],
      [["q.csv"], "too many arguments"],
      [["--catalog", "-", "--quotes", "-"], "Standard input (-) is named twice"],
      [
        ["--catalog", "c.csv", "--revise", " "],
        "expected text of 1 to 1000 characters on one line",
      ],
      [
        ["--catalog", "c.csv", "--attribution", "a\nb"],
        "expected text of 1 to 1000 characters on one line",
      ],
    ] as const) {
      const { code, stderr } = await inProcess(["publish", ...args]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(expected)]);
    }
  });
});

describe("sources", () => {
  const levels = (): unknown =>
    json("x/sessions/2026-11-21T00Z/r1/pro/board.json").memory.map(
      (row: { spot_usd: number }) => row.spot_usd,
    );

  test("several files of several formats, by name and by content", async () => {
    write("a.NDJSON", '{"id":"a","spot_usd":11}\n');
    write("b.feed", '\n [{"id":"b","spot_usd":5}]');
    write("a.feed", '{"id":"a","date":"2026-11-18","close_usd":9.5}\r\n');
    const { code } = await publish(
      "--catalog c.csv --quotes a.NDJSON b.feed --closes h.csv --closes a.feed --store x",
    );
    expect([code, levels()]).toEqual([0, [11, 5]]);
    expect(json("x/sessions/2026-11-21T00Z/r1/pro/contracts/a.json").history.length).toBe(3);
    expect(json("x/sessions/2026-11-21T00Z/r1/manifest.json").inputs).toMatchObject([
      { kind: "catalog", rows: 2 },
      { kind: "quotes", rows: 2 },
      { kind: "closes", rows: 3 },
    ]);
  });

  test.each([
    ["CSV", QUOTES],
    ["JSON", '[{"id":"a","spot_usd":11},{"id":"b","spot_usd":"5"}]'],
    ["NDJSON", '{"id":"a","spot_usd":11}\n{"id":"b","spot_usd":5}'],
  ])("%s from standard input", async (_, stdin) => {
    const { code } = await publish("--catalog c.csv --quotes - --store x", { stdin });
    expect([code, levels()]).toEqual([0, [11, 5]]);
  });

  test("a published catalog.json is a catalog", async () => {
    await publish("--catalog c.csv --quotes q.csv --store x");
    const catalog = "x/sessions/2026-11-21T00Z/r1/catalog.json";
    const again = await publish(`--catalog ${catalog} --quotes q.csv --store x`);
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Nothing to do/)]);
  });

  describe("http", () => {
    let server: Server;
    let address: string;
    const answer: RequestListener = (request, response) => {
      if (request.url === "/quotes.json?day=1")
        response.end('[{"id":"a","spot_usd":11},{"id":"b","spot_usd":5}]');
      else if (request.url === "/catalog") response.end(CATALOG);
      else if (request.url === "/short") {
        response.writeHead(200, { "content-length": "1000" }).write(QUOTES);
        setTimeout(() => response.destroy(), 50);
      } else if (request.url === "/cut") {
        response.write(QUOTES);
        setTimeout(() => response.destroy(), 50);
      } else response.writeHead(404).end("nothing");
    };
    beforeAll(async () => {
      server = createServer(answer).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(() => new Promise((resolve) => server.close(resolve)));

    test("catalog and quotes", async () => {
      const { code } = await publish(
        `--catalog ${address}/catalog --quotes ${address}/quotes.json?day=1 --store x`,
      );
      expect([code, levels()]).toEqual([0, [11, 5]]);
    });

    test("404, connections that end early, nobody there: 2, all in one go, nothing written", async () => {
      const sources = [
        `${address}/none.csv`,
        `${address}/short`,
        `${address}/cut`,
        "http://127.0.0.1:1/q.csv",
      ];
      const { code, stderr } = await publish(
        `--catalog c.csv --quotes ${sources.join(" ")} --store x`,
      );
      expect(code).toBe(2);
      const [head, ...found] = stderr.split("\n").filter((line) => !line.startsWith("Reading"));
      expect(head).toBe("error: 4 errors in the input; nothing was written");
      expect(found.slice(0, 4)).toEqual([
        `  Cannot fetch ${sources[0]}: the server answered 404`,
        expect.stringContaining(`Cannot read ${sources[1]}: `),
        expect.stringContaining(`Cannot read ${sources[2]}: `),
        expect.stringMatching(
          /Cannot fetch http:\/\/127\.0\.0\.1:1\/q\.csv: (bad port|.*ECONNREFUSED)/,
        ),
      ]);
      expect(readdirSync(folder)).not.toContain("x");
    });
  });
});

describe("files that are no input", () => {
  const refused = async (quotes: string): Promise<string[]> => {
    const { code, stdout, stderr } = await publish(`--catalog c.csv --quotes ${quotes} --store x`);
    expect([code, stdout]).toEqual([2, ""]);
    expect(readdirSync(folder)).not.toContain("x");
    return stderr
      .split("\n")
      .filter((line) => line.startsWith("  "))
      .map((line) => line.trim());
  };

  test("missing, a folder, empty, white space, only a header", async () => {
    mkdirSync(join(folder, "d.csv"));
    write("empty.csv", "");
    write("blank.csv", " \n\n");
    expect(await refused("none.csv d.csv empty.csv blank.csv")).toEqual([
      "Cannot read none.csv: no such file",
      "Cannot read d.csv: it is a folder",
      "empty.csv: the file is empty",
      "blank.csv: the file is empty",
    ]);
    write("header.csv", "id,spot_usd\n");
    const { code, stderr } = await publish("--catalog c.csv --quotes header.csv --store x");
    expect([code, stderr]).toEqual([3, expect.stringContaining("0 of 2 contracts have a level")]);
  });

  test("UTF-16 with and without mark, a UTF-8 mark, other bytes", async () => {
    write("mark16.csv", Buffer.from(`\ufeff${QUOTES}`, "utf16le"));
    write("plain16.csv", Buffer.from(QUOTES, "utf16le"));
    write("mark8.csv", `\ufeff${QUOTES}`);
    write("latin1.csv", Buffer.from("id,spot_usd,source\na,11,x\nb,5,M\xfcller\n", "latin1"));
    write("cut.csv", Buffer.from("id,spot_usd,source\na,11,\u20ac").subarray(0, -1));
    expect(await refused("mark16.csv plain16.csv mark8.csv latin1.csv cut.csv")).toEqual([
      "mark16.csv:1: starts with a UTF-16 byte order mark, expected UTF-8 without one",
      "plain16.csv:1: a NUL byte, expected UTF-8 text (is it UTF-16?)",
      "mark8.csv:1: starts with a UTF-8 byte order mark, expected UTF-8 without one",
      "latin1.csv:3: not UTF-8",
      "cut.csv:2: ends within a character, expected UTF-8",
    ]);
  });

  test("200,000 rows with one bad one in the middle", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `c${n}`);
    write("many.csv", catalogOf(ids));
    const day = (n: number): string =>
      new Date(Date.UTC(2026, 10, 20 - n)).toISOString().slice(0, 10);
    const rows = Array.from(
      { length: 200_000 },
      (_, n) => `c${n % 200},${day(Math.floor(n / 200))},${n === 100_000 ? "1O" : "10"}`,
    );
    write("many-closes.csv", ["id,date,close_usd", ...rows, ""].join("\n"));
    const line = "--catalog many.csv --closes many-closes.csv --allow-sparse --store x";
    const { code, stderr } = await publish(line);
    expect([code, stderr.split("\n").slice(-3)]).toEqual([
      2,
      [
        "error: 1 error in the input; nothing was written",
        '  many-closes.csv:100002 close_usd "1O": expected a number above 0, at most 1000000000, with at most 6 decimals',
        "",
      ],
    ]);
    expect(readdirSync(folder)).not.toContain("x");
  });
});
