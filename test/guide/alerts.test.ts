/** Alerts of the Python client from cron: every event is told, through kills, failures, delistings and renames. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { dateText, dayOf, sessionStartMs } from "../../src/market/session.ts";
import { seedOf, uniformAt } from "../../src/demo/random.ts";
import { catalogOf, lines, quotesOf, type CatalogRow } from "../cli/small-market.ts";
import { eventually, SESSION, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { publishInto } from "../http/vintage-market.ts";
import { readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";

const PACKAGE = join(import.meta.dirname, "../../clients/python");
const withPython = testWith("python3");

interface Event {
  readonly event: string;
  readonly event_id: string;
  readonly number: number;
  readonly id: string;
  readonly [name: string]: unknown;
}

let store: MemoryStore;
let clock: TestClock;
let proxy: TestProxy;
let folder: string;
beforeEach(async () => {
  store = new MemoryStore();
  clock = new TestClock();
  folder = await mkdtemp(join(tmpdir(), "chipboard-alerts-"));
  await writeFile(join(folder, "killed.py"), KILLED);
});
afterEach(async () => {
  await proxy.close();
  await rm(folder, { recursive: true });
});

/** Runs the command, and kills itself before that many lines of the client. */
const KILLED = `import os, signal, sys
import chipboard_client
left = int(sys.argv[1])
def trace(frame, event, arg):
    global left
    if frame.f_code.co_filename != chipboard_client.__file__:
        return None
    if event == "line":
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace
sys.settrace(trace)
sys.exit(chipboard_client.main(sys.argv[2:]))
`;

interface Ran {
  /** Null: killed. */
  readonly code: number | null;
  readonly events: readonly Event[];
  readonly stderr: string;
}

const python = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const set = { CHIPBOARD_URL: proxy.url, CHIPBOARD_KEY: proxy.pro, PYTHONPATH: PACKAGE };
    const options = { cwd: folder, env: { ...process.env, ...set, ...env } };
    const child = execFile(
      "python3",
      ["-B", "-W", "error", ...args],
      options,
      (_, stdout, stderr) => {
        const told = stdout.split("\n").filter((line) => line !== "");
        resolve({ code: child.exitCode, events: told.map((line) => JSON.parse(line)), stderr });
      },
    );
  });

const WATCH = ["watch", "rules.json", "--once"];
const watch = (more: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  python(["-m", "chipboard_client", ...WATCH, ...more], env);

/** Runs it once; it must end well. */
async function told(): Promise<readonly Event[]> {
  const { code, events, stderr } = await watch();
  expect([code, stderr]).toEqual([0, ""]);
  return events;
}

const setRules = (rules: unknown): Promise<void> =>
  writeFile(join(folder, "rules.json"), JSON.stringify(rules));

async function start(): Promise<void> {
  proxy = await startTestProxy({ store, clock, pollMs: 5 });
  await served();
}

async function served(): Promise<void> {
  const head = await readHead(store);
  await eventually(async () => (await proxy.get("/readyz")).json.publication === head?.number);
}

/** Publishes a session, `ahead` after the first one. */
async function publish(
  ahead: number,
  levels: Readonly<Record<string, number>>,
  catalog?: readonly (string | CatalogRow)[],
  closes?: string,
): Promise<void> {
  clock.ms = sessionStartMs(SESSION + ahead) + 300_000;
  await publishInto(store, SESSION + ahead, clock.ms, {
    quotes: quotesOf(levels),
    ...(catalog && { catalog: catalogOf(catalog) }),
    ...(closes !== undefined && { closes }),
  });
  if (proxy !== undefined && store === proxy.store) await served();
}

withPython(
  "40 publications from cron, killed in between: each event is told, repeats with its id",
  async () => {
    const seed = seedOf("alerts");
    let draws = 0;
    const uniform = (): number => uniformAt(seed, (draws += 1));
    const IDS = ["a", "b", "c"];
    /** USD in tenths, between 8 and 12. */
    const levelAt = (ahead: number, at: number): number =>
      80 + Math.floor(uniformAt(seed, -1 - ahead * IDS.length - at) * 40);
    const levels = (ahead: number) =>
      Object.fromEntries(IDS.map((id, at) => [id, levelAt(ahead, at) / 10]));
    await publish(0, levels(0), IDS);
    await start();
    await setRules([
      { id: "a", above: 10, below: 9 },
      { id: "b", above: 9.5 },
      { segment: "DRAM", above: 11 },
    ]);
    const expected: string[] = [];
    const judge = (ahead: number): void => {
      const note = (at: number, name: string, holds: (level: number) => boolean): void => {
        const held = ahead > 0 && holds(levelAt(ahead - 1, at));
        if (holds(levelAt(ahead, at)) && !held) expected.push(`${ahead + 1} ${IDS[at]} ${name}`);
      };
      note(0, "above 10", (level) => level > 100);
      note(0, "below 9", (level) => level < 90);
      note(1, "above 9.5", (level) => level > 95);
      for (const at of IDS.keys()) note(at, "above 11", (level) => level > 110);
    };
    judge(0);
    const lines: Event[] = [...(await told())];
    let kills = 0;
    const cron = async (): Promise<void> => {
      const { code, events } = await python([
        "killed.py",
        String(Math.floor(uniform() * 2_500)),
        ...WATCH,
      ]);
      expect([0, null]).toContain(code);
      if (code === null) kills += 1;
      lines.push(...events);
    };
    for (let ahead = 1; ahead < 40; ahead += 1) {
      await publish(ahead, levels(ahead));
      judge(ahead);
      if (uniform() < 0.6) await cron();
    }
    lines.push(...(await told()));
    const toldOnce = new Map<string, Event>();
    for (const event of lines) {
      const first = toldOnce.get(event.event_id);
      expect(event).toEqual(first ?? event);
      toldOnce.set(event.event_id, event);
    }
    const names = [...toldOnce.values()].map(
      ({ number, id, event, limit }) => `${number} ${id} ${event} ${String(limit)}`,
    );
    expect(names.toSorted()).toEqual(expected.toSorted());
    expect(expected.length).toBeGreaterThan(20);
    expect(kills).toBeGreaterThan(5);
    expect(await told()).toEqual([]);
  },
);

withPython("a delisted and a renamed contract are events, and the other rules go on", async () => {
  await publish(0, { a: 10, b: 20, c: 30 }, ["a", "b", "c"]);
  await start();
  await setRules([
    { id: "a", above: 50 },
    { contract: "b", above: 22 },
    { contract: "b", below: 15 },
    { id: "c", above: 30.5 },
  ]);
  const short = (events: readonly Event[]) =>
    events.map(({ event, id, code, new_id: now, delisted_on: left, value }) =>
      JSON.stringify([event, id, code ?? now ?? value, ...(left === undefined ? [] : [left])]),
    );
  expect(await told()).toEqual([]);
  await publish(1, { "b-new": 21, c: 31 }, [
    { id: "a", delisted_on: "2026-11-21" },
    { id: "b-new", formerly: "b" },
    "c",
  ]);
  expect(short(await told())).toEqual([
    '["gone","a","not_on_board","2026-11-21"]',
    '["renamed","b","b-new"]',
    '["above","c",31]',
  ]);
  await publish(2, { "b-new": 23, c: 32 });
  expect(short(await told())).toEqual(['["above","b-new",23]']);
  expect(await told()).toEqual([]);
});

withPython("a rule for an id that nothing has is refused at its first run", async () => {
  await publish(0, { "ddr5-16gb": 10, b: 20 }, ["ddr5-16gb", { id: "b", segment: "NAND" }]);
  await start();
  const refusals: readonly (readonly [rule: object, said: string])[] = [
    [{ id: "ddr5-16bg" }, `no contract or index has the id 'ddr5-16bg'; did_you_mean: ddr5-16gb`],
    [{ id: "nandd" }, `no contract or index has the id 'nandd'; did_you_mean: nand`],
    [{ contract: "nand" }, `no contract has the id 'nand'; did_you_mean: nothing like it`],
    [{ contract: "DDR5-16GB" }, `no contract has the id 'DDR5-16GB'; did_you_mean: ddr5-16gb`],
    [{ index: "composit" }, `no index has the id 'composit'; did_you_mean: composite`],
    [{ segment: "composite" }, `no segment has the id 'composite'; did_you_mean: nothing like it`],
    [{ basket: { b: 1, c: 1 } }, `no contract has the id 'c'; did_you_mean: nothing like it`],
  ];
  for (const [rule, said] of refusals) {
    await setRules([{ ...rule, above: 1 }]);
    const { code, events, stderr } = await watch();
    expect([code, events, stderr]).toEqual([2, [], `error: rule 1, above: ${said}\n`]);
  }
  // Rules that it knows already stay when their contract goes.
  await setRules([
    { contract: "ddr5-16gb", above: 5 },
    { segment: "NAND", above: 30 },
  ]);
  expect(await told()).toHaveLength(1);
});

withPython("a false alarm is taken back: its correction and its end name it", async () => {
  await publish(0, { a: 10, b: 5 }, ["a", "b"], lines("id,date,close_usd", "a,2026-11-20,10"));
  await start();
  await setRules([
    { id: "a", above: 20 },
    { id: "a", change_pct: 40, since: "2026-11-20" },
    { basket: { a: 2, b: 1 }, above: 50 },
  ]);
  expect(await told()).toEqual([]);
  await publish(1, { a: 25, b: 5 });
  const alarms = await told();
  expect(alarms.map(({ event, id, value, since }) => [event, since ?? id, value])).toEqual([
    ["above", "a", 25],
    ["change_pct", "2026-11-20", 25],
    ["above", '{"a": 2.0, "b": 1.0}', 55],
  ]);
  await publishInto(store, SESSION + 1, clock.ms, {
    quotes: quotesOf({ a: 11 }),
    revise: "Misprint",
  });
  await served();
  const { code, events } = await watch(["--resolved"]);
  expect(code).toBe(0);
  const [above, since, basket] = alarms.map(({ event_id }) => event_id);
  expect(events.map(({ event, corrects, resolves }) => [event, corrects ?? resolves])).toEqual([
    ["correction", since],
    ["resolved", above],
    ["resolved", since],
    ["resolved", basket],
  ]);
  expect(events[0]).toMatchObject({ contract_id: "a", old_usd: 25, new_usd: 11 });
  expect(new Set([...alarms, ...events].map(({ event_id }) => event_id)).size).toBe(7);
});

withPython("a correction of a level behind a settled month names the month", async () => {
  const october = (id: string, usd: number) =>
    lines("id,date,close_usd", `${id},2026-10-15,${usd}`);
  await publish(0, { a: 10, b: 5 }, ["a", "b"], lines(october("a", 8).trim(), "b,2026-10-15,4"));
  await start();
  await setRules([{ id: "a", above: 100 }]);
  expect(await told()).toEqual([]);
  const revise = async (inputs: { closes?: string; quotes?: string }): Promise<void> => {
    await publishInto(store, SESSION, clock.ms, { ...inputs, revise: "Misprint" });
    await served();
  };
  await revise({ closes: october("a", 9) });
  const [event, ...others] = await told();
  expect(event).toMatchObject({ event: "correction", contract_id: "a", settled: "2026-10" });
  expect(event).toMatchObject({ old_usd: 8, new_usd: 9 });
  expect(others).toEqual([]);
  // No rule names b, and November is not settled.
  await revise({ closes: october("b", 3) });
  await revise({ quotes: quotesOf({ a: 11 }) });
  expect(await told()).toEqual([]);
});

withPython("an id that was gone is looked for again, at no cost while there is none", async () => {
  await publish(0, { a: 10, b: 20 }, ["a", "b", "old", "idle"]);
  await start();
  await setRules([
    { id: "old", above: 1 },
    { id: "dram", above: 1 },
    { contract: "idle", above: 1 },
  ]);
  // Without a key there are no indices; with one there are.
  const { events } = await watch([], { CHIPBOARD_KEY: "" });
  const short = (told: readonly Event[]) => told.map(({ event, id, kind }) => [event, id, kind]);
  expect(short(events)).toEqual([
    ["gone", "old", undefined],
    ["gone", "dram", undefined],
    ["gone", "idle", undefined],
  ]);
  await publish(1, { a: 10, b: 20 });
  expect(short(await told())).toEqual([["above", "dram", "index"]]);
  await publish(2, { a: 10, new: 20 }, ["a", { id: "new", formerly: "b old" }, "idle"]);
  expect(short(await told())).toEqual([
    ["renamed", "old", undefined],
    ["above", "new", "contract"],
  ]);
  await setRules([
    { id: "old", above: 30 },
    { contract: "idle", above: 1 },
  ]);
  const used = async () => (await proxy.get("/api/public/v1/usage", { key: proxy.pro })).json.used;
  await publish(3, { a: 10, new: 21 });
  const before = await used();
  expect(await told()).toEqual([]);
  expect((await used()) - before).toBe(1);
});

withPython("changes of contracts, of all contracts of a segment, and of indices", async () => {
  const day = dayOf(SESSION);
  const closes = lines(
    "id,date,close_usd",
    ...Array.from({ length: 40 }, (_, ago) => [
      `a,${dateText(day - 1 - ago)},${ago < 6 ? 11 : 10}`,
      `b,${dateText(day - 1 - ago)},20`,
      `n,${dateText(day - 1 - ago)},${ago < 20 ? 30 : 20}`,
    ]).flat(),
  );
  await publish(0, { a: 11, b: 20, n: 30 }, ["a", "b", { id: "n", segment: "NAND" }], closes);
  await start();
  await setRules([
    { id: "a", change_pct: 5, over: "24h" },
    { id: "a", change_pct: 5, over: "7d" },
    { id: "a", change_pct: -5, over: "7d" },
    { segment: "dram", change_pct: "+9.5", over: "30d" },
    { id: "nand", change_pct: 49, over: "30d" },
    { index: "nand", change_pct: 49, over: "7d" },
    { index: "composite", above: 100 },
  ]);
  const events = await told();
  expect(
    events.map(({ event, id, kind, change_pct: change, over, value, unit }) => [
      event,
      id,
      kind,
      change ?? null,
      over ?? null,
      value,
      unit,
    ]),
  ).toEqual([
    ["change_pct", "a", "contract", 10, "7d", 11, "USD per piece"],
    ["change_pct", "a", "contract", 10, "30d", 11, "USD per piece"],
    ["change_pct", "nand", "index", 50, "30d", 150, "points"],
    ["above", "composite", "index", null, null, expect.any(Number), "points"],
  ]);
  // The other way round, without the rule ceasing to hold in between.
  await publish(1, { a: 5, b: 20, n: 30 });
  expect(
    (await told()).map(({ event, id, over, change_pct: change }) => [event, id, over, change]),
  ).toEqual([
    ["change_pct", "a", "24h", -54.55],
    ["change_pct", "a", "7d", -50],
    ["change_pct", "a", "7d", -50],
  ]);
});

withPython("by a webhook or a command, again until it takes the event", async () => {
  await publish(0, { a: 10, b: 20 }, ["a", "b"]);
  await start();
  await setRules([{ id: "a", above: 9 }]);
  const got: [IncomingHttpHeaders, Event][] = [];
  let status = 500;
  const hook = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += String(piece)));
    request.on("end", () => {
      got.push([request.headers, JSON.parse(body)]);
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/secret`;
  try {
    for (const none of ["hooks.example/secret", "file:///tmp/secret"]) {
      const early = await watch(["--webhook", none]);
      expect(early).toMatchObject({ code: 2, stderr: expect.stringContaining("--webhook: exp") });
      expect(early.stderr).not.toContain("secret");
    }
    const refused = await watch(["--webhook", address]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: the webhook refused: HTTP Error 500/),
    });
    expect(refused.stderr).not.toContain("secret");
    const failed = await watch(["--command", "exit 3"]);
    expect(failed).toMatchObject({
      code: 1,
      stderr: "error: the command ended with 3: Contract a (a) is above 9: 10 USD per piece\n",
    });
    status = 204;
    expect(await watch([], { CHIPBOARD_WEBHOOK: address })).toMatchObject({ code: 0, events: [] });
    expect(got.map(([headers]) => headers["idempotency-key"])).toEqual([
      got[0]?.[1].event_id,
      got[0]?.[1].event_id,
    ]);
    expect(got[1]?.[1]).toEqual(got[0]?.[1]);
    // Slack shows the member `text`. Discord refuses a body without `content`.
    const text = "Contract a (a) is above 9: 10 USD per piece";
    expect(got[1]?.[1]).toMatchObject({ event: "above", text, content: text });
  } finally {
    hook.close();
  }
  await publish(1, { a: 8, b: 20 });
  await publish(2, { a: 11, b: 20 });
  const command = 'cat >> told.ndjson; echo "$EVENT $EVENT_ID $EVENT_TEXT" >> told.txt';
  expect(await watch(["--command", command])).toMatchObject({ code: 0, stderr: "" });
  const event: Event = JSON.parse(await readFile(join(folder, "told.ndjson"), "utf8"));
  expect(event).toMatchObject({
    event: "above",
    id: "a",
    number: 3,
    value: 11,
    was: 8,
    limit: 9,
    rule: { id: "a", above: 9 },
  });
  expect(await readFile(join(folder, "told.txt"), "utf8")).toBe(
    `above ${event.event_id} ${String(event["text"])}\n`,
  );
});

withPython(
  "a state that is damaged, of something else, of another log or in use is named",
  async () => {
    await publish(0, { a: 10 }, ["a"]);
    await start();
    await setRules([{ id: "a", above: 9 }]);
    await told();
    const state = join(folder, "alerts.json");
    const good = await readFile(state, "utf8");
    const cases: readonly (readonly [string, RegExp])[] = [
      [good.slice(0, -20), /^error: alerts\.json is damaged: it is no JSON\. .*delete it/],
      ['{"name": "x"}', /^error: alerts\.json is no state of watch: expected "format"/],
      ["[]", /^error: alerts\.json is no state of watch/],
      [good.replace('"sides"', '"slides"'), /^error: alerts\.json is damaged: .*slides/],
      [good.replace('"pending": []', '"pending": [{}]'), /^error: alerts\.json is damaged/],
      [good.replace('"publication": 1', '"publication": "1"'), /^error: alerts\.json is damaged/],
      [
        good.replace(/"entry_sha256": "\w/, '"entry_sha256": "x'),
        /^error: alerts\.json is of another log: entry 1 of http/,
      ],
    ];
    for (const [text, message] of cases) {
      await writeFile(state, text);
      expect(await watch()).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
      expect(await readFile(state, "utf8")).toBe(text);
    }
    await writeFile(state, good.replace('"publication": 1', '"publication": 9'));
    expect(await watch()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has no entry 9 of the log/),
    });
    await writeFile(state, good);
    const both = `import chipboard_client as c, os, sys
client = c.Client(os.environ["CHIPBOARD_URL"], os.environ["CHIPBOARD_KEY"])
rules = [{"id": "a", "above": 1}]
first = client.watch(rules, state="alerts.json")
next(first)
try:
    next(client.watch(rules, state="alerts.json"))
except OSError as error:
    sys.exit(str(error))`;
    expect(await python(["-c", both])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^alerts\.json is in use/),
    });
  },
);

withPython("without a key: the free slice, as the newest publication has it", async () => {
  await publish(0, { a: 10 }, [{ id: "a", free: "true" }]);
  await publish(1, { a: 11 });
  await start();
  await setRules({ a: [{ above: 9 }] });
  const none = { CHIPBOARD_KEY: "" };
  expect((await watch([], none)).events.map(({ event, id, value }) => [event, id, value])).toEqual([
    ["above", "a", 10],
  ]);
  await publish(2, { a: 8 });
  await publish(3, { a: 9.5 });
  await publish(4, { a: 9.7 });
  const { code, stderr, events } = await watch(["--all"], none);
  expect([code, stderr]).toEqual([0, ""]);
  expect(events.map(({ event }) => event)).toEqual(["session"]);
});

withPython("rules that say nothing are refused with their place", async () => {
  await publish(0, { a: 10 }, ["a"]);
  await start();
  const wrong: readonly (readonly [unknown, string])[] = [
    ["text", "rules.json: expected a list of rules"],
    [[], "rules.json has no rule"],
    [{}, "rules.json has no rule"],
    [
      [{ id: "a", abov: 5 }],
      "rule 1: unknown member 'abov'; expected id, contract, index, segment, basket, above",
    ],
    [[{ id: "a", above: 5 }, { above: 5 }], "rule 2: expected the id in one of id, contract"],
    [[{ id: "a", index: "a", above: 5 }], "rule 1: expected the id in one of"],
    [[{ id: "a" }], "rule 1: expected one of above, below, change_pct"],
    [[{ id: "a", above: "5" }], "rule 1, above: expected a number, got '5'"],
    [[{ id: "a", above: true }], "rule 1, above: expected a number, got True"],
    [
      [{ id: "a", change_pct: 5 }],
      'rule 1: expected "over": one of 24h, 7d, 30d with change_pct, got None',
    ],
    [[{ id: "a", change_pct: 5, over: "1d" }], "with change_pct, got '1d'"],
    [[{ id: "a", above: 5, over: "24h" }], "with change_pct, got '24h'"],
    [
      [{ id: "a", change_pct: 0, over: "24h" }],
      "rule 1, change_pct: expected a number of percent other than 0",
    ],
    [[5], 'rule 1: expected an object such as {"id": "ID", "above": 5}, got 5'],
    [{ a: "5" }, "rule of a: expected a number, got '5'"],
  ];
  for (const [rules, message] of wrong) {
    await setRules(rules);
    const { code, stderr } = await watch();
    expect([code, stderr]).toEqual([2, expect.stringContaining(`error: `)]);
    expect(stderr).toContain(message);
  }
});
