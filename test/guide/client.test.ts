/** /client.py: every function against a running proxy. */
import { createHash } from "node:crypto";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { copyOf, eventually, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { PRELUDE, PythonClient } from "./python-client.ts";

const API = "/api/public/v1";
const GOLDEN = new FolderStore(EXPECTED);
/** Debian installs pandas for this one. */
const PYTHON = "/usr/bin/python3";
const withPython = testWith("python3");

/** A row of CSV, by the names of its columns. */
type CsvRow = Readonly<Record<string, unknown>>;

let client: PythonClient;
const say = async (expression: string) =>
  JSON.parse(
    await client.print(`${PRELUDE}client = Client(key=key)\nprint(json.dumps(${expression}))`),
  );

describe("of a proxy", () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
    proxy = await startTestProxy({ store: await copyOf(GOLDEN), clock });
    client = await PythonClient.download(proxy.url, proxy.pro);
  });
  afterAll(async () => {
    await proxy.close();
    await client.remove();
  });

  const get = async (path: string) => proxy.get(`${API}${path}`, { key: proxy.pro });
  const records = ({ memory, semiconductor }: { memory: unknown[]; semiconductor: unknown[] }) => [
    ...memory,
    ...semiconductor,
  ];
  /** The rows of CSV, numbers as such. */
  const rows = async (path: string) =>
    parse((await get(path)).text, {
      columns: true,
      cast: (cell, { column }) =>
        cell === ""
          ? null
          : /_usd$|^close$|^inputs$|^known_|_days$|^(average|last|high|low|days)|_gb$|^settled_/.test(
                String(column),
              )
            ? Number(cell)
            : cell,
    });

  test("is text of Python that names the proxy, coded where that is accepted, and asked again for a 304", async () => {
    const { status, headers, text } = await proxy.get("/client.py", {
      headers: { "accept-encoding": "gzip" },
    });
    expect([status, headers["content-type"]]).toEqual([200, "text/x-python; charset=utf-8"]);
    expect([headers["content-encoding"], headers["x-ratelimit-remaining"]]).toEqual([
      "gzip",
      expect.any(String),
    ]);
    expect(text).toContain(`\nORIGIN = "${proxy.url}"\n`);
    const again = await proxy.get("/client.py", {
      headers: { "accept-encoding": "gzip", "if-none-match": String(headers["etag"]) },
    });
    expect(again.status).toBe(304);
  });

  withPython("prices: the records of the board, some of them, and earlier ones", async () => {
    expect(await say("client.prices()")).toEqual(records((await get("/prices")).json));
    const some = records((await get("/prices?ids=alpha-16gb,foxtrot-gpu")).json);
    expect(await say('client.prices(["alpha-16gb", "foxtrot-gpu"])')).toEqual(some);
    const segment = records((await get("/prices?segment=dram")).json);
    expect(await say('client.prices(segment="dram")')).toEqual(segment);
    const then = records((await get("/prices?as_of=2026-11-19")).json);
    expect(await say('client.as_of("2026-11-19").prices()')).toEqual(then);
    const free = records((await proxy.get(`${API}/prices`)).json);
    expect(await say("Client().prices()")).toEqual(free);
    expect(await say("client.prices().about")).toMatchObject({
      publication: 10,
      snapshot: "2026-11-21T00Z/r1",
      session_utc: "2026-11-21T00:00:00.000Z",
      delayed_sessions: 0,
    });
  });

  withPython("contract: with its history, breaks, corrections and limits", async () => {
    expect(await say('client.contract("alpha-16gb", last=2)')).toEqual(
      (await get("/prices/alpha-16gb?last=2")).json,
    );
    expect(await say('client.as_of(6).contract("alpha-16gb")')).toEqual(
      (await get("/prices/alpha-16gb?publication=6")).json,
    );
  });

  withPython("history and levels: rows with numbers, by ids, segment, dates and last", async () => {
    expect(await say("client.history()")).toEqual(await rows("/history.csv"));
    expect(await say('client.history(["alpha-16gb"], start="2026-11-18", last=2)')).toEqual(
      await rows("/history.csv?ids=alpha-16gb&from=2026-11-18&last=2"),
    );
    expect(await say("client.as_of(6).history(last=1)")).toEqual(
      await rows("/history.csv?publication=6&last=1"),
    );
    expect(await say('client.levels(segment=["dram", "ssd"], end="2026-11-20")')).toEqual(
      await rows("/levels.csv?segment=dram,ssd&to=2026-11-20"),
    );
  });

  withPython(
    "levels as an entry of the log had them, also of one that a rollback withdrew",
    async () => {
      const numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
      const known = await say(
        `[client.levels(known_at=each) for each in ${JSON.stringify(numbers)}]`,
      );
      const then = numbers.map(async (number) => {
        const published = (await rows(`/levels.csv?publication=${number}`)) as CsvRow[];
        // Entry 8 withdrew entry 7, so the answer is the one of entry 7, with its ids.
        if (number === 7) return published;
        const presentIdOf = (id: unknown) => (id === "echo-new" ? "echo-stack" : id);
        return published.map((row) => ({ ...row, contract_id: presentIdOf(row["contract_id"]) }));
      });
      expect(known).toEqual(await Promise.all(then));
      const some = 'ids=["alpha-16gb"], start="2026-11-18", last=2';
      expect(await say(`client.levels(${some}, known_at=5)`)).toEqual(
        await rows("/levels.csv?ids=alpha-16gb&from=2026-11-18&last=2&publication=5"),
      );
    },
  );

  withPython("closes of indices and their members, by ids and dates", async () => {
    expect(await say("client.series()")).toEqual(await rows("/indices.csv"));
    expect(await say('client.series(["dram"], last=2)')).toEqual(
      await rows("/indices.csv?ids=dram&last=2"),
    );
    expect(await say("client.members()")).toEqual(await rows("/members.csv"));
    expect(await say('client.members(["dram"], end="2026-11-19")')).toEqual(
      await rows("/members.csv?ids=dram&to=2026-11-19"),
    );
  });

  withPython("settled months, by ids and months", async () => {
    const all = await rows("/settlements.csv");
    expect(all.length).toBeGreaterThan(20);
    expect(await say("client.settlements()")).toEqual(all);
    const some = await rows("/settlements.csv?ids=alpha-16gb,dram&from=2026-09&to=2026-10");
    expect(some).toHaveLength(4);
    for (const period of ['"2026-09", "2026-10"', '"2026-09-30", date(2026, 10, 1)']) {
      const program = `${PRELUDE}from datetime import date
print(json.dumps(Client(key=key).settlements(["alpha-16gb", "dram"], ${period})))`;
      expect(JSON.parse(await client.print(program))).toEqual(some);
    }
    expect(await say('client.as_of(6).settlements("dram")')).toEqual(
      await rows("/settlements.csv?ids=dram&publication=6"),
    );
  });

  withPython(
    "a back-test over all entries reads two files; ids that came later have no row",
    async () => {
      const used = async () => (await get("/usage")).json.used;
      const before = await used();
      const program = `[len(client.levels(known_at=each)) for each in range(4, 7)]`;
      expect(new Set(await say(program)).size).toBeGreaterThan(1);
      expect((await used()) - before).toBe(2);
      expect(await say('client.levels(["echo-stack"], known_at=1)')).toEqual([]);
    },
  );

  withPython("index, basket, corrections, publications and sums", async () => {
    expect(await say("client.index()")).toEqual((await get("/index")).json);
    expect(await say('client.index("dram", last=2)')).toEqual(
      (await get("/indices/dram?last=2")).json,
    );
    const basket = "/index?ids=alpha-16gb,foxtrot-gpu";
    expect(await say('client.basket({"alpha-16gb": 64, "foxtrot-gpu": 0.5})')).toEqual(
      (await get(`${basket}&quantities=64,0.5`)).json,
    );
    expect(
      await say('client.basket({"alpha-16gb": 1e-05, "foxtrot-gpu": 2.0}, "weights")'),
    ).toEqual((await get(`${basket}&weights=0.00001,2`)).json);
    expect(await say("client.corrections(after=5)")).toEqual(
      (await get("/corrections?after=5")).json.corrections,
    );
    expect(await say("client.publications(4)")).toEqual(
      (await get("/publications?after=4")).json.publications,
    );
    const sha256 = createHash("sha256")
      .update((await get("/history.csv")).body)
      .digest("hex");
    expect((await say("client.sums()"))["history.csv"]).toBe(sha256);
  });

  testWith(PYTHON, "pandas")("frames have dates as such", async () => {
    const program = `${PRELUDE}frame = Client(key=key).history(["alpha-16gb"]).frame()
print(frame.dtypes["date"], frame.dtypes["session_utc"], frame.dtypes["close_usd"])`;
    expect(await client.print(program, PYTHON)).toBe(
      "datetime64[ns] datetime64[ns, UTC] float64\n",
    );
  });

  withPython("former ids: the present ones of a list, and both in about", async () => {
    const list = '["echo-new", "alpha-16gb", "typo"]';
    expect(await say(`client.resolve(${list})`)).toEqual({
      "echo-new": "echo-stack",
      "alpha-16gb": "alpha-16gb",
    });
    const asked = ["prices", "history", "corrections"].map(
      (call) => `client.${call}(["echo-new", "alpha-16gb"]).about["asked"]`,
    );
    const then = 'client.as_of(6).history(["echo-stack"]).about["asked"]';
    const none = 'client.history(["alpha-16gb"]).about["asked"]';
    expect(await say(`[${[...asked, then, none].join()}]`)).toEqual([
      ...asked.map(() => ({ "echo-new": "echo-stack" })),
      { "echo-stack": "echo-new" },
      {},
    ]);
  });

  withPython("asks again for nothing that it has", async () => {
    const used = async () => (await get("/usage")).json.used;
    const before = await used();
    await say("[client.prices(), client.prices(), client.prices()][2]");
    expect(await used()).toBe(before + 1);
  });

  withPython("names the refused request, and the code", async () => {
    const program = `${PRELUDE}
try:
    Client(key=key).prices(["alhpa-16gb"])
except Refused as refusal:
    print(refusal.status, refusal.code, refusal.retry_after)`;
    expect(await client.print(program)).toBe("400 unknown_contract None\n");
  });
});

withPython("watch tells of sessions, thresholds and corrections, in that order", async () => {
  const store = await copyOf(GOLDEN);
  for (let number = 10; number > 5; number -= 1) await store.delete(publicationKey(number));
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  const proxy = await startTestProxy({ store, clock, pollMs: 5 });
  client = await PythonClient.download(proxy.url, proxy.pro);
  try {
    const used = async () => (await proxy.get(`${API}/usage`, { key: proxy.pro })).json.used;
    const watching = client.print(`${PRELUDE}
for event in Client(key=key).watch({"alpha-16gb": 3.13}, every_seconds=0.05):
    print(json.dumps(event), flush=True)
    if event.get("publication") == 10:
        break`);
    await eventually(async () => (await used()) === 1);
    let calls = 1;
    for (const [number, costs] of [
      [6, 2],
      [7, 1],
      [8, 1],
      [9, 1],
      [10, 1],
    ] as const) {
      const key = publicationKey(number);
      await store.create(key, (await GOLDEN.get(key)) as Buffer);
      calls += costs;
      await eventually(async () => (await used()) === calls);
    }
    const events = (await watching)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const told = events.map(({ event, publication, id, spot_usd: usd, contract_id: contract }) => [
      event,
      contract ?? publication ?? id,
      ...(usd === undefined ? [] : [usd]),
    ]);
    expect(told).toEqual([
      ["correction", "alpha-16gb"],
      ["correction", "echo-new"],
      ["session", 7],
      ["threshold", "alpha-16gb", 2.45],
      ["session", 8],
      ["threshold", "alpha-16gb", 3.45],
      ["session", 9],
      ["session", 10],
    ]);
  } finally {
    await proxy.close();
    await client.remove();
  }
});
