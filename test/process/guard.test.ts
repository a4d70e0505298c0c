/** `guard` over a week in which one thing after another breaks: its notices, its reading of feeds, and its drill. */
import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inProcess } from "../cli/run.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { NOW, serve, type Serving } from "../program/program.ts";

let folder: string;
let listener: Server;
let feed: Server;
let proxy: Serving;
let port: number;
/** What NOTICE_URL and the dead man's switch have got. */
let notices: string[];
let pings: number;
/** How the listener answers notices. */
let noticeStatus = 200;
/** How often the feed was asked. Null: it answers 404. */
let asked = 0;
let levels: string | null = quotesOf({ a: 11, b: 5 });

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
async function listening(server: Server, at = 0): Promise<Server> {
  await once(server.listen(at, "127.0.0.1"), "listening");
  return server;
}
const close = (server: Server): Promise<unknown> =>
  new Promise((resolve) => {
    server.closeAllConnections();
    server.close(resolve);
  });

interface Row {
  readonly check: string;
  readonly result: string;
  readonly exit_code: number;
  readonly text: string;
  readonly remedy: string | null;
}

interface Looked {
  readonly code: number | null;
  readonly rows: Readonly<Record<string, Row>>;
}

const OPTIONS = (): string[] => [
  ..."--catalog c.csv --memory memory.json --backup backups --metrics-port off".split(" "),
  "--port",
  String(port),
  "--public-url",
  `http://127.0.0.1:${port}`,
  "--quotes",
  `http://127.0.0.1:${portOf(feed)}/quotes.csv`,
  "--ping",
  `http://127.0.0.1:${portOf(listener)}/ping`,
];

async function look(env: Record<string, string> = {}, more: string[] = []): Promise<Looked> {
  const given = { NOTICE_URL: `http://127.0.0.1:${portOf(listener)}/notice`, ...env };
  const { code, stdout, stderr } = await inProcess(["guard", "--json", ...OPTIONS(), ...more], {
    cwd: folder,
    env: given,
  });
  if (stderr.startsWith("error: ")) throw new Error(stderr);
  const { checks, exit_code } = JSON.parse(stdout) as { checks: Row[]; exit_code: number };
  expect(exit_code).toBe(code);
  return { code, rows: Object.fromEntries(checks.map((row) => [row.check, row])) };
}

const run = async (line: string): Promise<void> => {
  const { code, stderr } = await inProcess(line.split(" "), { cwd: folder });
  expect([line, code, stderr.includes("error")]).toEqual([line, 0, false]);
};

async function startProxy(): Promise<Serving> {
  const started = await serve(["--json", "--port", String(port)], { cwd: folder });
  // The first answer of a process may take longer than guard waits.
  await fetch(`${started.url}/readyz`);
  return started;
}
const move = (from: string, to: string): void => renameSync(join(folder, from), join(folder, to));

function loseStore(): void {
  move("snapshots", "snapshots-away");
  mkdirSync(join(folder, "snapshots"));
}
function bringStore(): void {
  rmSync(join(folder, "snapshots"), { recursive: true });
  move("snapshots-away", "snapshots");
}

/** The checks that a notice names after `words`: bad, or well again. */
const namedIn = (notice: string | undefined, words: string): string[] =>
  [...(notice ?? "").matchAll(new RegExp(`^${words}: ([a-z-]+): `, "gm"))].map(
    ([, name = ""]) => name,
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-guard-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
  writeFileSync(join(folder, "q.csv"), levels as string);
  mkdirSync(join(folder, "backups"));
  await run("publish --catalog c.csv --quotes q.csv");
  await run("accounts add acme --tier pro");
  await run("state backup backups/state-1.sqlite");
  await run("snapshots copy ./snapshots backups/snapshots");
  listener = await listening(
    createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => (body += String(piece)));
      request.on("end", () => {
        if (request.url === "/ping") pings += 1;
        else if (noticeStatus === 200) notices.push(body);
        response.writeHead(request.url === "/ping" ? 200 : noticeStatus).end();
      });
    }),
  );
  feed = await listening(
    createServer((_, response) => {
      asked += 1;
      response.writeHead(levels === null ? 404 : 200).end(levels ?? "");
    }),
  );
  const free = await listening(createServer());
  port = portOf(free);
  await close(free);
  proxy = await startProxy();
});
afterAll(async () => {
  await proxy.end();
  await Promise.all([listener, feed].map(close));
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  [notices, pings] = [[], 0];
});

/** Breaks something, and looks twice; mends it, and looks twice: one notice each, and a ping for each look. */
async function toldOnce(
  checks: readonly string[],
  code: number,
  breaking: () => unknown,
  mending: () => unknown,
  times: Record<string, string> = {},
): Promise<void> {
  await breaking();
  const broken = await look({ CHIPBOARD_NOW: times["broken"] ?? NOW });
  expect([broken.code, notices.length]).toEqual([code, 1]);
  expect(namedIn(notices[0], "bad").toSorted()).toEqual(checks.toSorted());
  for (const check of checks) {
    expect(notices[0]).toContain(broken.rows[check]?.remedy ?? "a remedy");
  }
  expect((await look({ CHIPBOARD_NOW: times["broken"] ?? NOW })).code).toBe(code);
  expect(notices).toHaveLength(1);
  await mending();
  const mended = await look({ CHIPBOARD_NOW: times["mended"] ?? NOW });
  expect([mended.code, notices.length]).toEqual([0, 2]);
  expect(namedIn(notices[1], "well again").toSorted()).toEqual(checks.toSorted());
  expect(namedIn(notices[1], "bad")).toEqual([]);
  expect((await look({ CHIPBOARD_NOW: times["mended"] ?? NOW })).code).toBe(0);
  expect([notices.length, pings]).toEqual([2, 4]);
}

describe("a week", () => {
  test("a service that is well is told of nowhere but at the switch, and its backup is restored", async () => {
    const { code, rows } = await look();
    expect([code, notices, pings]).toEqual([0, [], 1]);
    expect(Object.values(rows).filter(({ result }) => result === "fault")).toEqual([]);
    for (const name of ["port", "public", "catalog", "feeds", "publish", "backup", "drill"]) {
      expect([name, rows[name]?.result]).toEqual([name, "ok"]);
    }
    expect(rows["drill"]?.text).toMatch(/state-1\.sqlite with 1 account.*snapshots with 1 entry/);
    for (const name of ["map", "holidays", "prune", "certificate"]) {
      expect([name, rows[name]?.result]).toEqual([name, "not watched"]);
    }
  });

  test("the state is lost", () =>
    toldOnce(
      ["state"],
      5,
      () => move("state", "state-away"),
      () => move("state-away", "state"),
    ));

  test("the state was lost, and another one was begun in its place", () =>
    toldOnce(
      ["state"],
      5,
      async () => {
        move("state", "state-away");
        await run("state init");
      },
      () => {
        rmSync(join(folder, "state"), { recursive: true });
        move("state-away", "state");
      },
    ));

  test("the store is lost", () => toldOnce(["store", "lost", "head"], 5, loseStore, bringStore));

  test("another program has the port", async () => {
    let other: Server;
    await toldOnce(
      ["port", "public"],
      5,
      async () => {
        await proxy.end();
        other = await listening(
          createServer((_, response) => response.end("{}")),
          port,
        );
      },
      async () => {
        await close(other);
        proxy = await startProxy();
      },
    );
  });

  test("no proxy runs", () =>
    toldOnce(
      ["port", "public"],
      5,
      () => proxy.end(),
      async () => {
        proxy = await startProxy();
      },
    ));

  test("the feed is gone: asked once an hour, every five minutes after a fault", async () => {
    asked = 0;
    await look({ CHIPBOARD_NOW: "2026-11-21T00:30:00Z" });
    await look({ CHIPBOARD_NOW: "2026-11-21T01:00:00Z" });
    expect(asked).toBe(0);
    await toldOnce(
      ["feeds"],
      2,
      () => {
        levels = null;
        [notices, pings] = [[], 0];
      },
      () => {
        levels = quotesOf({ a: 11, b: 5 });
      },
      { broken: "2026-11-21T01:06:00Z", mended: "2026-11-21T01:11:30Z" },
    );
    expect(asked).toBe(2);
  });

  test("the feed is asked every five minutes from half an hour before a session on", async () => {
    await look({ CHIPBOARD_NOW: "2026-11-21T11:20:00Z" });
    asked = 0;
    const times = ["11:29", "11:31", "11:34", "11:37", "11:41", "11:47"];
    for (const time of times) await look({ CHIPBOARD_NOW: `2026-11-21T${time}:00Z` });
    expect(asked).toBe(3);
    // A clock that was set back is no reason to wait.
    await look();
    expect(asked).toBe(4);
  });

  test("a file that publish reads is missing", () =>
    toldOnce(
      ["catalog"],
      2,
      () => move("c.csv", "c-away.csv"),
      () => move("c-away.csv", "c.csv"),
    ));

  test("the backup cannot be read", async () => {
    const path = join(folder, "backups/state-1.sqlite");
    const whole = readFileSync(path);
    await toldOnce(
      ["backup"],
      6,
      () => writeFileSync(path, "not a database"),
      () => writeFileSync(path, whole),
    );
  });

  test("a wrong variable is told, and what stood in the memory stays", async () => {
    const env = { CHIPBOARD_MAX_MOVE: "abc" };
    for (let turn = 0; turn < 2; turn += 1) await expect(look(env)).rejects.toThrow(/MAX_MOVE/);
    expect(notices).toEqual([expect.stringMatching(/^bad: options: CHIPBOARD_MAX_MOVE "abc"/m)]);
    expect((await look()).code).toBe(0);
    expect(namedIn(notices[1], "well again")).toEqual(["options"]);
  });

  test("what NOTICE_URL does not take is told later, and the switch hears nothing meanwhile", async () => {
    await proxy.end();
    noticeStatus = 500;
    const unheard = await look();
    expect([unheard.rows["notices"]?.result, notices, pings]).toEqual(["fault", [], 0]);
    noticeStatus = 200;
    expect((await look()).rows["notices"]?.result).toBe("ok");
    expect([notices.length, pings]).toEqual([1, 1]);
    proxy = await startProxy();
    await look();
    expect(namedIn(notices[1], "well again")).toEqual(["port", "public"]);
  });
});

describe("the drill", () => {
  const later = { CHIPBOARD_NOW: "2026-11-21T00:30:00Z" };

  test("names a damaged backup, and tries the next one", async () => {
    const path = join(folder, "backups/state-1.sqlite");
    const whole = readFileSync(path);
    rmSync(join(folder, "memory.json"));
    // A look reads the accounts, which stay.
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(4_096, 0xaa), 0, 4_096, whole.length - 4_096);
    closeSync(file);
    const { code, rows } = await look();
    expect([code, rows["drill"]?.result, rows["drill"]?.exit_code]).toEqual([6, "fault", 6]);
    await look(later);
    expect(notices).toHaveLength(1);
    writeFileSync(path, whole);
    expect((await look(later)).rows["drill"]?.result).toBe("ok");
    expect(notices).toHaveLength(2);
  });

  test("is repeated after a week, and finds a copy of the store that lost bytes", async () => {
    const file = join(folder, "backups/snapshots/sessions/2026-11-21T00Z/r1/pro/SHA256SUMS");
    cpSync(file, join(folder, "kept"));
    appendFileSync(file, "x");
    expect((await look(later)).rows["drill"]?.result).toBe("ok");
    const { rows } = await look({ CHIPBOARD_NOW: "2026-11-28T00:31:00Z" });
    expect(rows["drill"]).toMatchObject({
      result: "fault",
      exit_code: 6,
      text: expect.stringContaining("SHA256SUMS"),
    });
    cpSync(join(folder, "kept"), file);
  });
});

describe("a week with its jobs", () => {
  const DAYS = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];
  /** The dead man's switch is told that pings come in less time. */
  const SILENCE_MS = 7 * 3_600_000;
  const units = (backupTimer: string): void => {
    const unit = (id: string, state: string) =>
      `Id=${id}\nLoadState=loaded\nActiveState=${state}\nSubState=running\nNRestarts=0\n`;
    const all = [
      unit("chipboard.service", "active"),
      unit("chipboard-publish.timer", "active"),
      unit("chipboard-backup.timer", backupTimer),
    ];
    writeFileSync(join(folder, "bin/units"), all.join("\n"));
  };
  const newestBackup = (day: string) => join(folder, `backups/state-${day}.sqlite`);
  let other: Server;
  let backup: Buffer;
  /** What breaks at 06:00, and is mended before 09:00. */
  const BREAKS: Readonly<Record<string, readonly [() => unknown, () => unknown]>> = {
    Sat: [() => move("state", "state-away"), () => move("state-away", "state")],
    Sun: [loseStore, bringStore],
    Mon: [
      async () => {
        await proxy.end();
        other = await listening(
          createServer((_, response) => response.end("{}")),
          port,
        );
      },
      async () => {
        await close(other);
        proxy = await startProxy();
      },
    ],
    Tue: [
      () => {
        levels = null;
      },
      () => {
        levels = quotesOf({ a: 12, b: 5 });
      },
    ],
    Wed: [
      () => {
        backup = readFileSync(newestBackup("Wed"));
        writeFileSync(newestBackup("Wed"), "not a database");
      },
      () => writeFileSync(newestBackup("Wed"), backup),
    ],
    Thu: [() => units("inactive"), () => units("active")],
  };

  test("its operator hears of each thing once, and of a machine that is off by the switch", async () => {
    rmSync(join(folder, "memory.json"), { force: true });
    mkdirSync(join(folder, "bin"));
    // It prints as systemd's: none runs here.
    const systemctl = join(folder, "bin/systemctl");
    writeFileSync(systemctl, '#!/bin/sh\ncat "$(dirname "$0")/units"\n', { mode: 0o755 });
    units("active");
    const env = { PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}` };
    const log: string[] = [];
    let pingedAtMs = Date.parse(NOW);
    for (const [at, day] of DAYS.entries()) {
      const date = `2026-11-${21 + at}`;
      const instant = (time: string) => ({ ...env, CHIPBOARD_NOW: `${date}T${time}:00Z` });
      const lookAt = async (time: string): Promise<void> => {
        [notices, pings] = [[], 0];
        const atMs = Date.parse(`${date}T${time}:00Z`);
        if (atMs - pingedAtMs > SILENCE_MS) log.push(`${day} ${time} no ping for 7 hours`);
        await look(instant(time));
        if (pings > 0) pingedAtMs = atMs;
        for (const words of ["bad", "well again"]) {
          const names = notices.flatMap((notice) => namedIn(notice, words));
          if (names.length > 0) log.push(`${day} ${time} ${words}: ${names.join(", ")}`);
        }
      };
      const job = async (time: string, line: string): Promise<void> => {
        const ran = await inProcess(line.split(" "), { cwd: folder, env: instant(time) });
        expect([line, ran.code, ran.stderr]).toEqual([line, 0, expect.not.stringMatching("error")]);
      };
      const publish = async (time: string, usd: number): Promise<void> => {
        levels = quotesOf({ a: usd, b: 5 });
        const quotes = `http://127.0.0.1:${portOf(feed)}/quotes.csv`;
        await job(time, `publish --catalog c.csv --quotes ${quotes}`);
      };
      if (at > 0) await publish("00:05", 11 + at);
      await lookAt("00:06");
      await job("02:30", `state backup ${newestBackup(day)}`);
      await job("02:31", "snapshots copy ./snapshots backups/snapshots");
      const [breaks, mends] = BREAKS[day] ?? [];
      if (breaks !== undefined && mends !== undefined) {
        await breaks();
        await lookAt("06:01");
        await lookAt("06:02");
        await mends();
        await lookAt("09:00");
      }
      await publish("12:05", 11.5 + at);
      await lookAt("12:06");
      await lookAt("18:00");
    }
    expect(log).toEqual([
      "Sat 06:01 bad: state",
      "Sat 09:00 well again: state",
      "Sun 06:01 bad: store, lost, head",
      "Sun 09:00 well again: store, lost, head",
      "Mon 06:01 bad: port, public",
      "Mon 09:00 well again: port, public",
      "Tue 06:01 bad: feeds",
      "Tue 09:00 well again: feeds",
      "Wed 06:01 bad: backup",
      "Wed 09:00 well again: backup",
      "Thu 06:01 bad: timers",
      "Thu 09:00 well again: timers",
      "Fri 12:06 no ping for 7 hours",
    ]);
  });
});

test("--test sends a notice, also as JSON; without NOTICE_URL it is an error", async () => {
  const env = { NOTICE_URL: `http://127.0.0.1:${portOf(listener)}/notice` };
  expect((await inProcess(["guard", "--test"], { cwd: folder, env })).code).toBe(0);
  const json = { ...env, NOTICE_FORMAT: "json" };
  expect((await inProcess(["guard", "--test"], { cwd: folder, env: json })).code).toBe(0);
  expect(notices[0]).toContain("test");
  const { text, content } = JSON.parse(notices[1] as string) as Record<string, string>;
  expect([text, content]).toEqual([notices[0], notices[0]]);
  const without = await inProcess(["guard", "--test"], { cwd: folder, env: { NOTICE_URL: "" } });
  expect([without.code, without.stderr]).toEqual([2, expect.stringContaining("NOTICE_URL")]);
});

test("an option that is not given is not watched, and no proxy is a fault", async () => {
  const words = ["guard", "--json", "--port", "1", "--metrics-port", "off"];
  const { code, stdout } = await inProcess(words, { cwd: folder, env: { NOTICE_URL: "" } });
  const { checks } = JSON.parse(stdout) as { checks: Row[] };
  const results = Object.fromEntries(checks.map(({ check, result }) => [check, result]));
  const names =
    "public certificate catalog map holidays feeds prune backup drill notices ping memory".split(
      " ",
    );
  expect(names.map((name) => [name, results[name]])).toEqual(
    names.map((name) => [name, "not watched"]),
  );
  expect([code, results["port"]]).toEqual([5, "fault"]);
});
