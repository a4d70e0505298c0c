/** The sources of `publish`: files, standard input, addresses; and files that are not an input. */
import { MAX_INPUT_MEGABYTES, MAX_ROW_CHARACTERS } from "../../src/lib/limits.ts";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import exceljs from "exceljs";
import { SAVE_AS } from "../../src/feed/text-reader.ts";
import type { Ran, RunOptions } from "../program/program.ts";
import { catalogOf } from "./small-market.ts";
import { CATALOG, inputFolder, jsonIn, QUOTES, runIn } from "./publish-folder.ts";

let folder: string;
beforeEach(() => {
  folder = inputFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string | Uint8Array): void =>
  writeFileSync(join(folder, name), content);
const publish = (line: string, options: RunOptions = {}): Promise<Ran> =>
  runIn(folder, `publish ${line}`, options);
const json = (path: string) => jsonIn(folder, path);

describe("sources", () => {
  const levels = (): unknown =>
    json("x/sessions/2026-11-21T00Z/r1/pro/board.json").memory.map(
      (row: { spot_usd: number }) => row.spot_usd,
    );

  test("several files in several formats, detected by name and by content", async () => {
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
      { kind: "quotes", rows: 1, name: "a.NDJSON" },
      { kind: "quotes", rows: 1, name: "b.feed" },
      { kind: "closes", rows: 2, name: "h.csv" },
      { kind: "closes", rows: 1, name: "a.feed" },
    ]);
  });

  test.each([
    ["empty", ""],
    ["of white space", "\ufeff \n\r\n"],
  ])(
    "NDJSON that is %s has no rows, as CSV of a header and an array without items",
    async (_, text) => {
      write("none.ndjson", text);
      write("none.jsonl", text);
      write("none.csv", "id,spot_usd\n");
      write("none.json", "[]");
      for (const name of ["none.ndjson", "none.jsonl", "none.csv", "none.json"]) {
        const line = `--catalog c.csv --quotes ${name} --closes h.csv --store ${name}.d`;
        const refused = await publish(line);
        expect([refused.code, refused.stderr]).toEqual([
          3,
          expect.stringContaining("0 of 2 contracts have a level for 2026-11-21T00Z"),
        ]);
        expect((await publish(`${line} --accept sparse`)).code).toBe(0);
      }
      expect((await publish("--catalog none.jsonl --store x")).stderr).toContain(
        "none.jsonl: no rows, expected at least one contract",
      );
      const unnamed = await publish("--catalog c.csv --quotes - --store x", { stdin: text });
      expect(unnamed.stderr).toContain("standard input: the file is empty");
    },
  );

  test.each([
    ["CSV", QUOTES],
    ["JSON", '[{"id":"a","spot_usd":11},{"id":"b","spot_usd":"5"}]'],
    ["NDJSON", '{"id":"a","spot_usd":11}\n{"id":"b","spot_usd":5}'],
  ])("%s from standard input", async (_, stdin) => {
    const { code } = await publish("--catalog c.csv --quotes - --store x", { stdin });
    expect([code, levels()]).toEqual([0, [11, 5]]);
  });

  test("a published catalog.json is a valid catalog", async () => {
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
      else if (request.headers.authorization === `Basic ${btoa("u%er:\u00e2\u0082\u00ac")}`)
        response.end(QUOTES);
      else if (request.url === "/short") {
        response.writeHead(200, { "content-length": "1000" }).write(QUOTES);
        setTimeout(() => response.destroy(), 50);
      } else if (request.url === "/cut") {
        response.write(QUOTES);
        setTimeout(() => response.destroy(), 50);
      } else if (request.url === "/unframed") {
        // Cut inside 12.58, as by a broken connection.
        request.socket.end("HTTP/1.1 200 OK\r\n\r\nid,spot_usd\nb,5\na,12");
      } else if (request.url === "/unchunked") {
        request.socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nid,spot_usd\na,12");
      } else if (request.url === "/framed") {
        request.socket.end(
          "HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\nid,spot_usd\nb,5\na,12.58",
        );
      } else if (request.url === "/gzip") {
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(QUOTES));
      } else if (request.url === "/cut-gzip") {
        const cut = gzipSync(QUOTES).subarray(0, -9);
        response.writeHead(200, { "content-encoding": "gzip" }).end(cut);
      } else if (request.url === "/brotli") {
        response.writeHead(200, { "content-encoding": "br" }).end(QUOTES);
      } else if (/^\/2\d\d$/.test(request.url ?? "")) {
        response.writeHead(Number(request.url?.slice(1))).end(QUOTES);
      } else if (request.url?.startsWith("/to?") === true) {
        const location = decodeURIComponent(request.url.slice("/to?".length));
        response.writeHead(302, { location }).end("a secret");
      } else if (request.url === "/page?key=secret") response.end("<p>a secret</p>\n");
      else if (request.url === "/other?key=secret") response.end("secret,other\nsecret,1\n");
      else if (request.url === "/object?key=secret") response.end('{"secret":"secret"}\n');
      else if (request.url === "/text.json?key=secret") response.end('["secret" secret]');
      else response.writeHead(404).end("nothing");
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

    test("are kept unpacked, under their address without user, password and query", async () => {
      const withUser = address.replace("//", "//u%er:%E2%82%AC@");
      const { code } = await publish(
        `--catalog ${withUser}/catalog --quotes ${withUser}/quotes.json?day=1 ${withUser}/gzip --store x`,
      );
      expect(code).toBe(0);
      const { inputs } = json("x/sessions/2026-11-21T00Z/r1/manifest.json");
      expect(inputs).toMatchObject([
        { name: `${address}/catalog`, bytes: CATALOG.length },
        { name: `${address}/quotes.json`, rows: 2 },
        { name: `${address}/gzip`, bytes: QUOTES.length },
      ]);
      expect(gunzipSync(readFileSync(join(folder, "x", inputs[2].key))).toString()).toBe(QUOTES);
    });

    test("the token of a link is in no message", async () => {
      const token = `lnk_${"a".repeat(43)}`;
      const { stderr } = await publish(
        `--catalog c.csv --quotes ${address}/l/${token}.csv --store x`,
      );
      expect(stderr).toContain(`Cannot fetch ${address}/l/lnk_***.csv: the server answered 404`);
    });

    test("user and password are sent as UTF-8", async () => {
      const withUser = address.replace("//", "//u%er:%E2%82%AC@");
      const { code } = await publish(
        `--catalog ${withUser}/catalog --quotes ${withUser}/secret.csv --store x`,
      );
      expect([code, levels()]).toEqual([0, [11, 5]]);
    });

    test("404, broken and refused connections: 2, all reported at once, nothing written", async () => {
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
        `  Cannot fetch ${sources[0]}: the server answered 404, expected 200`,
        expect.stringContaining(`Cannot read ${sources[1]}: `),
        expect.stringContaining(`Cannot read ${sources[2]}: `),
        expect.stringMatching(
          /Cannot fetch http:\/\/127\.0\.0\.1:1\/q\.csv: (bad port|.*ECONNREFUSED)/,
        ),
      ]);
      expect(readdirSync(folder)).not.toContain("x");
    });

    const refusalOf = async (path: string): Promise<string> => {
      const { code, stderr } = await publish(
        `--catalog c.csv --quotes ${address}${path} --store x`,
      );
      expect([code, readdirSync(folder).includes("x")]).toEqual([2, false]);
      const told = stderr.split("\n").filter((line) => line.startsWith("  "));
      expect([told.length, stderr.includes("secret")]).toEqual([1, false]);
      return told[0]?.trim() ?? "";
    };

    test.each(["/unframed", "/unchunked"])(
      "an answer without a length is refused: %s",
      async (path) => {
        expect(await refusalOf(path)).toBe(
          `Cannot fetch ${address}${path}: the answer has neither a content-length nor chunked coding, ` +
            "so a truncated body could not be detected",
        );
      },
    );

    test("an answer with a length needs no line break at its end", async () => {
      const { code } = await publish(`--catalog c.csv --quotes ${address}/framed --store x`);
      expect([code, levels()]).toEqual([0, [12.58, 5]]);
    });

    test.each([201, 203, 204, 206])("the status %i is refused", async (status) => {
      expect(await refusalOf(`/${status}`)).toBe(
        `Cannot fetch ${address}/${status}: the server answered ${status}, expected 200`,
      );
    });

    test("a gzip answer is unpacked; a cut one, and other codings, are refused", async () => {
      const { code } = await publish(`--catalog c.csv --quotes ${address}/gzip --store x`);
      expect([code, levels()]).toEqual([0, [11, 5]]);
      rmSync(join(folder, "x"), { recursive: true });
      expect(await refusalOf("/cut-gzip")).toMatch(/^Cannot read .*: the gzip data ends early$/);
      expect(await refusalOf("/brotli")).toMatch(/expected gzip or no compression$/);
    });

    test("redirects are followed within the origin, and to hosts that the operator names", async () => {
      const asked: (string | undefined)[] = [];
      const elsewhere = createServer((request, response) => {
        asked.push(request.headers.authorization);
        response.end(QUOTES);
      }).listen(0, "127.0.0.1");
      await new Promise((resolve) => elsewhere.once("listening", resolve));
      const other = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
      try {
        const { code } = await publish(
          `--catalog ${address}/to?/catalog --quotes ${address}/to?${address}/gzip --store x`,
        );
        expect([code, levels()]).toEqual([0, [11, 5]]);
        rmSync(join(folder, "x"), { recursive: true });
        expect(await refusalOf(`/to?${other}/q.csv`)).toBe(
          `Cannot fetch ${address}/to: the server redirects to ${other}, expected redirects within ${address}; --allow-host ${other.slice(7)} follows it`,
        );
        for (const host of [other.slice(7), "127.0.0.1", "x.example,127.0.0.1"]) {
          const env = {
            CHIPBOARD_FEED_HEADER: "Authorization: Bearer secret",
            CHIPBOARD_ALLOW_HOST: host,
          };
          const ran = await publish(
            `--catalog c.csv --quotes ${address}/to?http://user:word@${other.slice(7)}/q.csv --store x`,
            { env },
          );
          expect([ran.code, levels()]).toEqual([0, [11, 5]]);
          rmSync(join(folder, "x"), { recursive: true });
        }
        // A header of the feed may be its secret.
        expect(asked).toEqual([undefined, undefined, undefined]);
        const named = await publish(
          `--catalog c.csv --quotes ${address}/to?${other}/q.csv --store x --allow-host x.example`,
        );
        expect(named.stderr).toContain(`--allow-host ${other.slice(7)} follows it`);
        expect(await refusalOf("/to?ftp://x/y")).toMatch(/redirects to an invalid address/);
        const wrong = await publish(
          "--catalog c.csv --quotes q.csv --store x --allow-host https://x",
        );
        expect([wrong.code, wrong.stderr]).toEqual([
          2,
          expect.stringContaining('--allow-host "https://x": expected HOST or HOST:PORT'),
        ]);
        expect(await refusalOf("/to?//")).toMatch(/redirects to an invalid address/);
        expect(await refusalOf("/to?/to%3F/to%253F")).toMatch(/the server answered 404/);
      } finally {
        await new Promise((resolve) => elsewhere.close(resolve));
      }
    });

    test.each([
      ["/page", "looks like a web page"],
      ["/other", "no known column"],
      ["/object", "no known field"],
      ["/text.json", "not JSON"],
    ])(
      "a message quotes neither an answer that is no table nor the query: %s",
      async (path, finding) => {
        const told = await refusalOf(`${path}?key=secret`);
        expect(told).toMatch(new RegExp(`^${address}${path}(:1|\\[0\\]): .*${finding}`));
      },
    );
  });
});

test("help says how large an input and a row may be", async () => {
  const { code, stdout } = await publish("--help");
  expect(code).toBe(0);
  expect(stdout).toContain(`${MAX_INPUT_MEGABYTES} MB, unpacked`);
  expect(stdout).toContain(`${MAX_ROW_CHARACTERS} characters`);
});

describe("files that are not an input", () => {
  const refused = async (quotes: string): Promise<string[]> => {
    const { code, stdout, stderr } = await publish(`--catalog c.csv --quotes ${quotes} --store x`);
    expect([code, stdout]).toEqual([2, ""]);
    expect(readdirSync(folder)).not.toContain("x");
    return stderr
      .split("\n")
      .filter((line) => line.startsWith("  "))
      .map((line) => line.trim());
  };

  test("a missing file, a folder, an empty file, white space, only a header", async () => {
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

  test("an invalid address: the message does not repeat the password", async () => {
    for (const address of ["ftp://u:secret@h/q.csv", "http://u:secret@127.0.0.1:99999/q.csv"]) {
      const { code, stderr } = await publish(`--catalog c.csv --quotes ${address} --store x`);
      expect([code, stderr]).toEqual([
        2,
        `error: ${address.replace("u:secret", "***")}: expected a file, - or an http(s) address\n`,
      ]);
    }
  });

  test("the message about a header after empty lines names its line", async () => {
    write("late.csv", "\n\n\nid,spot_usd,foo\na,1,x\n");
    expect(await refused("late.csv")).toEqual([
      expect.stringMatching(/^late\.csv:4: unknown column "foo", /),
    ]);
  });

  test("a header that only carriage returns separate from the rows is in line 1", async () => {
    write("cr.csv", 'id,"spot_usd",x\ra,1\rb,2\r');
    expect(await refused("cr.csv")).toEqual([
      "cr.csv:1: lines that end with a carriage return alone, expected a line feed; in Excel save it as CSV UTF-8",
    ]);
  });

  test.each([
    ['"id";"spot_usd"', "columns separated by semicolons"],
    ['<html lang="en"><p>', "looks like a web page"],
    ['{"id":"a","spot_usd":1}', "looks like JSON"],
  ])("%s as CSV gets one message that fits", async (line, found) => {
    write("other.csv", `${line}\n"a";"1"\n`);
    expect(await refused("other.csv")).toEqual([expect.stringContaining(found)]);
  });

  test("a message cuts a long line between characters", async () => {
    const astral = "\u{1f4be}".repeat(600);
    for (const before of ["", "x"]) {
      write("long.csv", `id,spot_usd,basis\na,1,"${before}${astral}"\n`);
      const cell = await refused("long.csv");
      expect(cell[0]).toMatch(/^long\.csv:2 basis "x?\u{1f4be}{59,60}…": expected reported/u);
      write("long.csv", `id,spot_usd,${before}${astral}\na,1,x\n`);
      expect((await refused("long.csv"))[0]).not.toMatch(/\\ud/);
    }
  });

  test("after 10,000 errors the rest is counted", async () => {
    const rows = Array.from({ length: 10_002 }, (_, n) => `{"id":"a","spot_usd":1,"x${n}":1}\n`);
    write("many.ndjson", rows.join(""));
    const told = await refused("many.ndjson");
    expect([told.length, told.at(-1)]).toEqual([10_001, "and 2 more"]);
  });

  test("UTF-16 with and without a mark, and other bytes", async () => {
    write("mark16.csv", Buffer.from(`\ufeff${QUOTES}`, "utf16le"));
    write("plain16.csv", Buffer.from(QUOTES, "utf16le"));
    write("latin1.csv", Buffer.from("id,spot_usd,source\na,11,x\nb,5,M\xfcller\n", "latin1"));
    write("cut.csv", Buffer.from("id,spot_usd,source\na,11,\u20ac").subarray(0, -1));
    expect(await refused("mark16.csv plain16.csv latin1.csv cut.csv")).toEqual([
      `mark16.csv:1: starts with a UTF-16 byte order mark, expected UTF-8; ${SAVE_AS}`,
      `plain16.csv:1: a NUL byte, expected UTF-8 text (is it UTF-16?); ${SAVE_AS}`,
      `latin1.csv:3: not UTF-8 (is it Latin-1, with "ü"?); ${SAVE_AS}`,
      "cut.csv:2: ends within a character, expected UTF-8",
    ]);
  });

  test("a UTF-8 byte order mark is skipped, and hides nothing", async () => {
    write("mark8.csv", `\ufeff${QUOTES}`);
    write("mark8.json", '\ufeff[{"id":"a","spot_usd":11}]');
    const marked = await publish("--catalog c.csv --quotes mark8.csv mark8.json --store y");
    expect(marked.code).toBe(0);
    write("faulty.csv", "\ufeffid,spot_usd\na,-1\nb,0\n");
    expect(await refused("faulty.csv")).toEqual([
      expect.stringContaining('faulty.csv:2 spot_usd "-1"'),
      expect.stringContaining('faulty.csv:3 spot_usd "0"'),
    ]);
  });

  test("messages recognise a workbook, gzip and SQLite, and say how to convert them", async () => {
    const workbook = new exceljs.Workbook();
    workbook.addWorksheet("Quotes").addRow(["id", "spot_usd"]);
    await workbook.xlsx.writeFile(join(folder, "q.xlsx"));
    write("q.csv.gz", gzipSync(QUOTES));
    new DatabaseSync(join(folder, "q.db")).exec("CREATE TABLE quotes (id, spot_usd)");
    expect(await refused("q.xlsx q.csv.gz q.db")).toEqual([
      "q.xlsx:1: a workbook or another ZIP file, expected text; in Excel save it as CSV UTF-8, or unpack it",
      "q.csv.gz:1: a gzip file, expected text; unpack it with gunzip",
      "q.db:1: an SQLite database, expected text; export the table with sqlite3 -csv -header",
    ]);
  });

  test("200,000 rows with an invalid one in the middle", async () => {
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
