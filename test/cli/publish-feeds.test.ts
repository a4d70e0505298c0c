/** `publish` and feeds that are late or private: `--wait`, `--feed-header`; and runs without input. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { catalogOf, quotesOf } from "./small-market.ts";
import { CATALOG, inputFolder, jsonIn, QUOTES, runIn } from "./publish-folder.ts";
import type { Ran, RunOptions } from "../program/program.ts";
import { inProcess } from "./run.ts";

let folder: string;
let server: Server;
let address: string;
let answer: RequestListener;
const seen: IncomingMessage[] = [];
beforeEach(async () => {
  folder = inputFolder();
  seen.length = 0;
  answer = (_, response) => void response.end(QUOTES);
  server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await new Promise((resolve) => server.close(resolve));
});

const publish = (line: string, options: RunOptions = {}): Promise<Ran> =>
  runIn(folder, `publish --store x ${line}`, options);
const words = (...args: string[]): Promise<Ran> =>
  inProcess(["publish", "--store", "x", ...args], { cwd: folder });
const file = (name: string): string => readFileSync(join(folder, name), "utf8");
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

describe("--wait", () => {
  test("an address that does not answer yet is read again, and everything else with it", async () => {
    let calls = 0;
    answer = (_, response) => {
      calls += 1;
      if (calls > 1) return void response.end(QUOTES);
      write("c.csv", CATALOG.replaceAll("Contract", "Renamed"));
      response.writeHead(404).end("not yet");
    };
    const line = `--catalog c.csv --quotes ${address}/q.csv --wait 3s`;
    const { code, stderr } = await publish(line);
    expect([code, calls]).toEqual([0, 2]);
    expect(stderr).toMatch(
      /\nWaiting until 2026-11-21T00:05:0\d\.\d{3}Z: Cannot fetch http:\S+\/q\.csv: the server answered 404, expected 200\nReading 2\/2\n/,
    );
    const [{ name }] = jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/catalog.json");
    expect(name).toBe("Renamed a");
  });

  test("what another address answered is not asked for again", async () => {
    let calls = 0;
    answer = ({ url }, response) => {
      if (url === "/catalog") return void response.end(CATALOG);
      calls += 1;
      if (calls > 1) response.end(quotesOf({ b: 5 }));
      else response.writeHead(503, { "retry-after": "1" }).end("not yet");
    };
    const quotes = `--quotes q.csv ${address}/late.csv`;
    const { code, stderr } = await publish(`--catalog ${address}/catalog ${quotes} --wait 3s`);
    expect([code, seen.map(({ url }) => url)]).toEqual([0, ["/catalog", "/late.csv", "/late.csv"]]);
    expect(stderr).toContain("answered 503, expected 200; it asks to wait 1 second\n");
    const { inputs } = jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/manifest.json");
    expect(inputs[0]).toMatchObject({ name: `${address}/catalog`, bytes: CATALOG.length, rows: 2 });
  });

  test("if levels are sparse, every address is asked again", async () => {
    answer = ({ url }, response) =>
      void response.end(quotesOf(url === "/a" ? { a: 11 } : seen.length < 3 ? {} : { b: 5 }));
    const { code } = await publish(`--catalog c.csv --quotes ${address}/a ${address}/b --wait 3s`);
    expect([code, seen.map(({ url }) => url)]).toEqual([0, ["/a", "/b", "/a", "/b"]]);
  });

  test.each([
    ["600", "600"],
    [new Date(Date.parse("2026-11-21T00:10:00Z")).toUTCString(), "600"],
  ])("a server that asks to wait longer (retry-after: %s) is not asked again", async (retry, s) => {
    answer = (_, response) =>
      void response
        .writeHead(429, { "retry-after": retry, date: "Sat, 21 Nov 2026 00:00:00 GMT" })
        .end();
    const line = `--catalog c.csv --quotes ${address}/q.csv ${address}/r.csv --wait 1m`;
    const { code, stderr } = await publish(line);
    expect([code, seen.length, stderr.includes("Waiting")]).toEqual([2, 2, false]);
    expect(stderr).toContain(`the server answered 429, expected 200; it asks to wait ${s} seconds`);
  });

  test.each(["soon", "-1", "1.5", "", "Sat, 21 Nov 2026", "9999999999"])(
    "retry-after: %j says nothing",
    async (retry) => {
      answer = (_, response) => {
        if (seen.length > 1) response.end(QUOTES);
        else response.writeHead(429, { "retry-after": retry }).end();
      };
      const { code, stderr } = await publish(`--catalog c.csv --quotes ${address}/q --wait 1s`);
      expect([code, stderr.includes("asks to wait")]).toEqual([0, false]);
    },
  );

  test("a file that is missing is awaited; at the end its error stands, with the exit code", async () => {
    const { code, stderr } = await publish("--catalog c.csv --quotes later.csv --wait 3s");
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /^Reading 2\/2\nWaiting until \S+: Cannot read later\.csv: no such file\nReading 2\/2\n(?:Waiting [^\n]*\nReading 2\/2\n)?error: 1 error in the input; nothing was written\n/,
      ),
    ]);
  });

  test("sparse levels alone are awaited", async () => {
    answer = (_, response) => void response.end(seen.length === 1 ? quotesOf({ a: 11 }) : QUOTES);
    const { code, stderr } = await publish(`--catalog c.csv --quotes ${address}/q --wait 3s`);
    expect([code, seen.length]).toEqual([0, 2]);
    expect(stderr).toMatch(
      /\nWaiting until \S+: 1 of 2 contracts have a level for 2026-11-21T00Z, /,
    );
  });

  test("sparse levels are awaited although --accept names a gate that refuses nothing so far", async () => {
    await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
    answer = (_, response) =>
      void response.end(quotesOf(seen.length === 1 ? { b: 5 } : { a: 99, b: 5 }));
    const { code } = await publish(`--quotes ${address}/q --wait 3s --accept moves:a`);
    expect([code, seen.length]).toEqual([0, 2]);
  });

  test.each([
    ["a faulty row", "id,spot_usd\na,-1\nb,5\n", 2],
    ["a move beside sparse levels", "id,spot_usd\na,99\n", 3],
  ])("%s does not get better by waiting", async (_, quotes, expected) => {
    await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
    write("bad.csv", quotes);
    const { code, stderr } = await publish("--quotes bad.csv --wait 1h");
    expect([code, stderr.includes("Waiting")]).toEqual([expected, false]);
  });

  describe("the feed still has the levels of the session before", () => {
    const DATED = QUOTES.replace(/^.*/, "$&,session_utc").replace(
      /(?<=\d)$/gm,
      ",2026-11-21T00:00:00.000Z",
    );
    beforeEach(async () => {
      await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T00Z");
    });
    const levels = (): unknown =>
      jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/pro/board.json").memory.map(
        ({ spot_usd }: { spot_usd: number }) => spot_usd,
      );

    test("levels of this session are awaited, and published", async () => {
      answer = (_, response) =>
        void response.end(seen.length === 1 ? QUOTES : quotesOf({ a: 11.5, b: 5 }));
      const { code, stderr } = await publish(`--quotes ${address}/q --wait 3s`);
      expect([code, seen.length]).toEqual([0, 2]);
      expect(stderr).toMatch(
        /\nWaiting until \S+: no level has moved since 2026-11-20T00Z, and no session_utc says that the feed is for 2026-11-21T00Z\n/,
      );
      expect(levels()).toEqual([11.5, 5]);
    });

    test("at the end it is published as without --wait, or refused", async () => {
      const stale = "--quotes q.csv --wait 1s";
      const refused = await publish(`${stale} --max-unchanged 1`);
      expect([refused.code, refused.stderr]).toEqual([
        3,
        expect.stringMatching(/\nWaiting until [^]*\nerror: Refused: 1 finding; [^]* unchanged/),
      ]);
      const { code, stdout } = await publish(stale);
      expect([code, stdout]).toEqual([
        0,
        expect.stringContaining("\nUnchanged  no level has moved since 2026-11-20T00Z\n"),
      ]);
      const again = await publish("--quotes q.csv --wait 1h");
      expect([again.code, again.stdout.slice(0, 13)]).toEqual([0, "Nothing to do"]);
    });

    test("rows that name the session need no wait, nor does what else is refused", async () => {
      write("dated.csv", DATED);
      const cut = "--catalog cut.csv --quotes q.csv --wait 1h --ignore-unknown";
      write("cut.csv", catalogOf(["a"]));
      expect((await publish(cut)).code).toBe(3);
      const { code, stderr } = await publish("--quotes dated.csv --wait 1h");
      expect([code, stderr.includes("Waiting")]).toEqual([0, false]);
    });
  });

  test("a faulty input is told at once, although another one is missing", async () => {
    write("bad.csv", "id,spot_usd\na,-1\n");
    const line = "--catalog c.csv --quotes bad.csv none.csv --wait 1h";
    const { code, stderr } = await publish(line);
    expect([code, stderr.includes("Waiting")]).toEqual([2, false]);
    expect(stderr).toContain("error: 2 errors in the input");
  });

  test("standard input cannot be read again: 2", async () => {
    const { code, stderr } = await words("--quotes", "-", "--wait", "25m");
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--wait cannot read standard input (-) again"),
    ]);
  });

  test.each(["0", "25 minutes", "-1s", "2d"])("--wait %s: 2", async (text) => {
    const { code, stderr } = await words("--quotes", "q.csv", "--wait", text);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`--wait "${text}": expected a duration`),
    ]);
  });
});

test("requests say who asks, unless a header does", async () => {
  await publish(`--catalog c.csv --quotes ${address}/q.csv`);
  const header = ["--feed-header", "User-Agent: Prices Inc"];
  await words("--catalog", "c.csv", "--quotes", `${address}/q.csv`, ...header);
  expect(seen.map(({ headers }) => headers["user-agent"])).toEqual([
    expect.stringMatching(/^chipboard\/\d/),
    "Prices Inc",
  ]);
});

describe("--feed-header", () => {
  const SECRET = "s3cr3t-t0ken";

  test("goes with every address, also after a redirect, and is never shown", async () => {
    answer = (request, response) => {
      if (request.headers["x-feed-key"] !== SECRET) return void response.writeHead(403).end();
      if (request.url === "/moved") return void response.writeHead(302, { location: "/q" }).end();
      response.end(request.url === "/c" ? CATALOG : QUOTES);
    };
    const given = ["--catalog", `${address}/c`, "--quotes", `${address}/moved`];
    const headers = [
      "--feed-header",
      `X-Feed-Key: ${SECRET} `,
      "--feed-header",
      "accept: text/csv",
    ];
    const ran = await words(...given, ...headers);
    expect([ran.code, ran.stderr.includes(SECRET)]).toEqual([0, false]);
    expect(seen.map(({ headers: { accept } }) => accept)).toEqual(Array(3).fill("text/csv"));
    expect(
      JSON.stringify(jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/manifest.json")),
    ).not.toContain(SECRET);

    const env = { CHIPBOARD_FEED_HEADER: `accept: */*\nx-feed-key: ${SECRET}\n` };
    const again = await publish(`--catalog ${address}/c --quotes ${address}/q`, { env });
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Nothing to do/)]);
  });

  test("user and password of an address come before it", async () => {
    const own = address.replace("//", "//me:pass@");
    await words(
      "--catalog",
      "c.csv",
      "--quotes",
      `${own}/q`,
      "--feed-header",
      "Authorization: Bearer b",
    );
    expect(seen[0]?.headers.authorization).toBe(`Basic ${btoa("me:pass")}`);
  });

  test.each([
    [SECRET],
    [`Authorization ${SECRET}`],
    [`: ${SECRET}`],
    [`x y: ${SECRET}`],
    ["x-key: "],
    [`x-key: ${SECRET}\u0000`],
    [`x-key: ${SECRET}\u20ac`],
    [`Host: ${SECRET}`],
    [`content-length: ${SECRET}`],
    [`x-key: 1\nX-Key: ${SECRET}`],
  ])("%j is refused without being shown", async (header) => {
    for (const json of [[], ["--json"]]) {
      const { code, stdout, stderr } = await words(
        "--quotes",
        `${address}/q`,
        "--feed-header",
        header,
        ...json,
      );
      expect([code, `${stdout}${stderr}`.includes(SECRET)]).toEqual([2, false]);
      expect(stderr).toMatch(/^error: --feed-header: number [12] (?:is|has) /);
    }
    expect(seen).toEqual([]);
  });

  test("no failure of an address shows it", async () => {
    const given = ["--catalog", "c.csv", "--feed-header", `x-key: ${SECRET}`, "--quotes"];
    answer = (_, response) =>
      void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    for (const place of [address, "http://127.0.0.1:1/q", "https://127.0.0.1:1/q"]) {
      const { code, stderr } = await words(...given, place);
      expect([code, stderr.includes(SECRET)]).toEqual([2, false]);
    }
  });
});

describe("--restate-series", () => {
  test.each(["--revise Typo", "--rerender New"])("is not for a run with %s", async (other) => {
    const { code, stderr } = await publish(`--restate-series Again ${other}`);
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used with option")]);
  });

  test.each([
    ["--from 2026-11-01", "--from"],
    ["--restate-members", "--restate-members"],
    ["--from 2026-11-01 --rerender New", "--from"],
  ])("is what %s needs", async (line, named) => {
    const { code, stderr } = await publish(line);
    expect([code, stderr]).toEqual([2, `error: ${named} needs --restate-series "reason"\n`]);
  });

  test("takes a date, and members, and is refused another one", async () => {
    await publish("--catalog c.csv --quotes q.csv --closes h.csv");
    const wrong = await publish("--restate-series Again --from yesterday");
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      'error: --from "yesterday": expected a date such as 2026-11-21\n',
    ]);
    const line = "--restate-series Again --restate-members --from 2026-11-19";
    expect((await publish(line)).stdout).toMatch(/^Nothing to do/);
  });

  test("alone has nothing to do where no close changes, whatever inputs the environment names", async () => {
    await publish("--catalog c.csv --quotes q.csv");
    const env = { CHIPBOARD_QUOTES: "missing.csv" };
    const { code, stdout } = await publish("--restate-series Again", { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Nothing to do/)]);
  });
});

describe("--rerender takes no input", () => {
  test.each([
    ["--quotes q.csv", "--quotes"],
    ["--catalog c.csv --closes h.csv", "--catalog, --closes"],
    ["--session 2026-11-21T00Z --revise x", "--session, --revise"],
    ["--hold a --hold-invalid --round", "--hold, --hold-invalid, --round"],
  ])("%s: 2", async (line, named) => {
    const { code, stderr } = await publish(`${line} --rerender New`);
    expect([code, stderr]).toEqual([
      2,
      `error: --rerender takes everything but --attribution from the head: leave out ${named}\n`,
    ]);
  });

  test("--accept lets the gates on the time through, and no other", async () => {
    const { code, stderr } = await publish("--accept gap moves --rerender New");
    expect([code, stderr]).toEqual([2, 'error: --accept "moves": expected gap or clock\n']);
  });

  test("what the environment of the daily job names does not matter", async () => {
    await publish("--catalog c.csv --quotes q.csv");
    const env = { CHIPBOARD_QUOTES: "none.csv", CHIPBOARD_WAIT: "25m", CHIPBOARD_ROUND: "1" };
    const { code, stdout } = await publish("--rerender New", { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Nothing to do/)]);
  });
});

describe("--summary", () => {
  test("of a refusal has the findings and the way on", async () => {
    await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
    write("wild.csv", quotesOf({ a: 99, b: 5 }));
    expect((await publish("--quotes wild.csv --summary s.md")).code).toBe(3);
    expect(file("s.md")).toBe(
      [
        "## Refused: 1 finding; nothing was written",
        "",
        "- a moves by 800 percent, from 11 \\(2026\\-11\\-20T12Z\\) to 99 \\(2026\\-11\\-21T00Z\\), expected at most 50",
        "- If something else is priced from now on, give the contract's level with a break in the same run\\.",
        "- If the moves are right, publish with \\-\\-accept moves:a",
        "",
        "Exit code 3",
        "",
      ].join("\n"),
    );
    await publish("--quotes wild.csv --summary s.md --accept moves:a");
    expect(file("s.md")).toContain("| moves | a | 800 | 50 |");
  });

  test("of faulty input, a conflict or a wrong option names it, and no markup gets through", async () => {
    write("bad.csv", 'id,spot_usd\n"<b>|`x",1\na,-1\n');
    expect((await publish("--catalog c.csv --quotes bad.csv --summary s.md")).code).toBe(2);
    expect(file("s.md")).toContain('- bad\\.csv:3 spot\\_usd "\\-1": expected');
    expect(file("s.md")).toContain("\\<b\\>\\|\\`x");
    expect((await publish("--quotes - --wait 1m --summary s.md")).code).toBe(2);
    expect(file("s.md")).toMatch(/^## \\-\\-wait cannot read standard input.*\n\nExit code 2\n$/);
    await publish("--catalog c.csv --quotes q.csv");
    write("other.csv", quotesOf({ a: 11.5, b: 5 }));
    expect((await publish("--quotes other.csv --summary s.md")).code).toBe(4);
    expect(file("s.md")).toContain("--revise".replaceAll("-", "\\-"));
  });

  test("of an unreachable store says so, and a long list is cut", async () => {
    renameSync(join(folder, "q.csv"), join(folder, "x"));
    expect((await publish("--catalog c.csv --closes h.csv --summary s.md")).code).toBe(5);
    expect(file("s.md")).toContain("Exit code 5");
    rmSync(join(folder, "x"));
    const rows = Array.from({ length: 500 }, (_, n) => `{"id":"a","spot_usd":1,"x${n}":1}\n`);
    write("many.ndjson", rows.join(""));
    await publish("--catalog c.csv --quotes many.ndjson --summary s.md");
    expect(file("s.md")).toContain("\n\nand 400 more\n\nExit code 2\n");
  });
});

test("the result names judgements and since when nothing moved: lines, Markdown, JSON", async () => {
  await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
  write("part.csv", quotesOf({ a: 11, b: "5.0000000", x: 1 }));
  const line = "--quotes part.csv --hold a --ignore-unknown --round --accept sparse --summary s.md";
  const { code, stdout } = await publish(line);
  expect(code).toBe(0);
  expect(stdout).toContain("\nUnchanged  no level has moved since 2026-11-20T12Z\n");
  expect(stdout.split("\n").filter((text) => text.startsWith("Judgement"))).toEqual([
    "Judgement  sparse: 50 percent covered, limit 80",
    "Judgement  held a: 1 row left out",
    "Judgement  unknown x: 1 row left out",
    "Judgement  rounded: 1 level to 6 decimals",
  ]);
  expect(file("s.md")).toContain("No level has moved since 2026-11-20T12Z.");
  expect(file("s.md")).toContain("| unknown | x | 1 |");
  const json = JSON.parse((await publish(`${line} --json`)).stdout);
  expect(json).toMatchObject({
    outcome: "unchanged",
    unmoved_since_utc: "2026-11-20T12:00:00.000Z",
    judgements: [
      { gate: "sparse", contract: null, measured: 50, limit: 80 },
      { gate: "held", contract: "a", measured: 1, limit: null },
      { gate: "unknown", contract: "x", measured: 1, limit: null },
      { gate: "rounded", contract: null, measured: 1, limit: 6 },
    ],
  });
  const shown = await runIn(folder, "snapshots show --store x");
  expect(shown.stdout).toMatch(
    /\nJudgements\ngate +contract +measured +limit +by +why\nsparse +- +50 +80 +- +-\nheld +a +1 +- +- +-\n/,
  );
  expect(file("x/sessions/2026-11-21T00Z/r1/report.html")).toContain(
    '<th scope="row">unknown</th><td><bdi>x</bdi></td><td><bdi>1</bdi></td>',
  );
});

test("--hold-invalid holds a row that cannot be read, and the summary names it", async () => {
  await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
  write("nan.csv", quotesOf({ a: "NaN", b: 6 }));
  expect((await publish("--quotes nan.csv --accept sparse")).code).toBe(2);
  expect((await publish("--quotes nan.csv --hold-invalid")).code).toBe(3);
  const { code, stdout } = await publish("--quotes nan.csv --hold-invalid --accept sparse");
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining("\nJudgement  held a: 1 row left out\n"),
  ]);
});

test("--accept and --hold take several", async () => {
  await publish("--catalog c.csv --quotes q.csv --session 2026-11-20T12Z");
  write("d.csv", catalogOf(["b", "c"]));
  write("wild.csv", quotesOf({ b: 50, c: 1 }));
  const given = "--catalog d.csv --quotes wild.csv";
  expect((await publish(given)).code).toBe(3);
  const several = await words(...given.split(" "), "--accept", " moves:b  delisting:a free\n");
  expect(several.code).toBe(0);
  const held = await publish("--quotes q.csv --hold b,,c");
  expect([held.code, held.stderr]).toEqual([2, 'error: --hold "b,,c": expected ID or ID,ID\n']);
  const unknown = await publish("--quotes q.csv --accept moves everything");
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    'error: --accept "everything": expected moves, sparse, units, unchanged, series, board, delisting, free, gap, clock, or one with ids (moves:ID,ID)\n',
  ]);
});
