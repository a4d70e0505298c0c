/** What /client.py makes of answers that are none: it raises Refused, Damaged or OSError, and watch goes on. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect } from "vitest";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { PRELUDE, PythonClient } from "./python-client.ts";

const withPython = testWith("python3");

/** An answer; the digest matches the body. */
interface Lie {
  readonly status?: number;
  readonly fields?: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

let client: PythonClient;
let proxy: TestProxy;
let server: Server;
let origin: string;
let answerOf: (path: string) => Lie;

function send({ url = "" }: IncomingMessage, response: ServerResponse): void {
  const { status = 200, fields, body } = answerOf(url.replace("/api/public/v1", ""));
  const digest = createHash("sha256").update(body).digest("base64");
  const usual = { "unencoded-digest": `sha-256=:${digest}:`, "x-publication": "7" };
  // Node refuses fields that no server may send, so they are written as they are.
  const head = Object.entries({ ...usual, ...fields }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  response.socket?.end(
    Buffer.concat([
      Buffer.from(`HTTP/1.1 ${status} Told\r\n${head.join("")}connection: close\r\n\r\n`, "latin1"),
      Buffer.from(body),
    ]),
  );
}

beforeAll(async () => {
  server = await new Promise((resolve) => {
    const started = createServer(send).listen(0, "127.0.0.1", () => resolve(started));
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  proxy = await startTestProxy();
  client = await PythonClient.download(proxy.url, "cbk_secret");
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await proxy.close();
  await client.remove();
});

const PAGE: Lie = {
  fields: { "content-type": "text/html" },
  body: "<html>Maintenance</html>",
};
const DEEP: Lie = { body: "[".repeat(100_000) };
const json = (value: unknown, fields: Lie["fields"] = {}): Lie => ({
  fields,
  body: JSON.stringify(value),
});
const csv = (body: string, fields: Lie["fields"] = {}): Lie => ({ fields, body });
const BOARD = {
  memory: [],
  semiconductor: [],
  session_utc: "2026-11-21T00:00:00.000Z",
  next_session_utc: "2026-11-21T12:00:00.000Z",
};

const SETTLED = { month: "2026-10", unit: null, average: 1, reason: "r".repeat(60_000) };

/** With a short settlement: `info` is of the service's description, `signature` of an entry of the log. */
const PROOF = {
  kind: "contract",
  id: "a",
  attribution: "",
  settlements: [{ ...SETTLED, reason: null }],
  info: {},
  signature: "",
};

const DAMAGED = "Damaged";
const HISTORY = "contract_id,date,close_usd,inputs\r\n";
/** A call, the lie that answers it, and the result. */
const LIES: readonly (readonly [string, Lie, string])[] = [
  ...[
    "prices()",
    "contract('a')",
    "index()",
    "index('dram')",
    "basket({'a': 1})",
    "corrections()",
    "publications()",
  ].flatMap((call) =>
    [
      PAGE,
      DEEP,
      { body: "" },
      { body: "null" },
      { body: "[]" },
      { body: '"text"' },
      { body: "1e999" },
      { body: `{"a":${"9".repeat(5_000)}` },
      { body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) },
    ].map((lie): [string, Lie, string] => [call, lie, DAMAGED]),
  ),
  ["prices()", json({}), DAMAGED],
  ["prices()", json({ ...BOARD, memory: {} }), DAMAGED],
  ["prices()", json({ ...BOARD, memory: "ab", semiconductor: "cd" }), DAMAGED],
  ["prices()", json({ ...BOARD, semiconductor: [1] }), DAMAGED],
  ...["x", "-1", "1.5", "1e3", "9".repeat(5_000), "²", ""].map((number): [string, Lie, string] => [
    "prices()",
    json(BOARD, { "x-publication": number }),
    DAMAGED,
  ]),
  ["prices().about", json(BOARD, { "x-delayed-sessions": "none" }), DAMAGED],
  ["prices()", json(BOARD, { "content-length": "x" }), DAMAGED],
  ["prices()", json(BOARD, { "unencoded-digest": "sha-256=:a:" }), DAMAGED],
  ["prices()", json(BOARD, { "content-encoding": "br" }), DAMAGED],
  ["prices()", json(BOARD, { "content-encoding": "gzip" }), DAMAGED],
  ["corrections()", json({ corrections: null }), DAMAGED],
  ["corrections()", json({ corrections: [[]] }), DAMAGED],
  ["publications()", json({ publications: [], next: 1 }), DAMAGED],
  ["publications()", json({ publications: [{}], next: 0 }), DAMAGED],
  ["publications()", json({ publications: [{}], next: "1" }), DAMAGED],
  ["publications()", json({ publications: [{}] }), DAMAGED],
  ["publications()", json({ publications: { a: 1 }, next: null }), DAMAGED],
  ...["[", "//[", "http://[::1", "http://h:x/", "//h:99999999/"].map(
    (location): [string, Lie, string] => [
      "prices()",
      { status: 302, fields: { location }, body: "" },
      DAMAGED,
    ],
  ),
  ["prices()", { status: 302, fields: { location: "/\xe4" }, body: "" }, DAMAGED],
  ["prices()", { status: 302, body: "" }, DAMAGED],
  ["sums()", csv("digest name"), DAMAGED],
  ["sums()", { body: Buffer.from([0xff]) }, DAMAGED],
  ...["history()", "sync('lies.sqlite')"].flatMap((call) =>
    [
      csv(""),
      { body: Buffer.from([0xff]) },
      csv("<html>Maintenance</html>"),
      csv("date,contract_id\r\n"),
      csv("contract_id,session_utc\r\n"),
      csv("contract_id,date,date\r\n"),
      csv('contract_id,date,"a"" text"\r\n'),
      csv(`contract_id,date,${Array.from({ length: 3_000 }, (_, at) => `c${at}`).join()}\r\n`),
      csv(`${HISTORY}a,2026-11-21\r\n`),
      csv(`${HISTORY}a,2026-11-21,1,2,3\r\n`),
      csv(`${HISTORY}a,2026-11-21,one,2\r\n`),
      csv(`${HISTORY}a,2026-11-21,1,1.5\r\n`),
      csv(`${HISTORY}a,2026-11-21,1,${"9".repeat(5_000)}\r\n`),
      csv(`${HISTORY}"a"b,2026-11-21,1,1\r\n`),
      csv(`${HISTORY}${"a".repeat(200_000)},2026-11-21,1,1\r\n`),
      csv(HISTORY, { "x-publication": "x" }),
    ].map((lie): [string, Lie, string] => [call, lie, DAMAGED]),
  ),
  // A settlement that is in order, and as an entry of the log too long.
  [
    "evidence('a', '2026-10', 'lies.zip', 'contract')",
    json({ kind: "contract", id: "a", attribution: "", settlements: [SETTLED] }),
    DAMAGED,
  ],
  // One text as settlement, entry of the log, keys and description of the service.
  ...[
    json(PROOF, { "x-publication": "soon" }),
    json(PROOF, { "x-publication": "0" }),
    json({ ...PROOF, settlements: [SETTLED, { month: null }] }),
    json({ ...PROOF, settlements: [{ month: "m".repeat(1_000) }] }),
    json({ ...PROOF, info: ["x-evidence"] }),
    json({ ...PROOF, info: null }),
    { body: JSON.stringify({ ...PROOF, info: { "x-evidence": "?" } }).replace("?", "\\ud800") },
  ].map((lie): [string, Lie, string] => [
    "evidence('a', '2026-10', 'lies.zip', 'contract')",
    lie,
    DAMAGED,
  ]),
  // Twelve megabytes, which would take half a gigabyte.
  [
    "prices()",
    { body: JSON.stringify(BOARD).replace("{", `{"more":[${"[],".repeat(4_000_000)}[]],`) },
    DAMAGED,
  ],
  // What only a database notices.
  ["sync('lies.sqlite')", csv(`${HISTORY}a,2026-11-21,1,1\r\na,2026-11-21,1,1\r\n`), DAMAGED],
  ["sync('lies.sqlite')", csv(`${HISTORY}a,2026-11-21,1,99999999999999999999\r\n`), DAMAGED],
  ["sync('lies.sqlite')", csv(`${HISTORY}a,2026-11-21,01,1\r\n`), DAMAGED],
  ["levels()", csv(HISTORY), DAMAGED],
  ["prices()", { status: 503, body: "<html>" }, "Refused 503 unknown"],
  ["prices()", { ...DEEP, status: 403, body: "[".repeat(60_000) }, "Refused 403 unknown"],
  [
    "prices()",
    { status: 429, fields: { "retry-after": "soon" }, body: "{}" },
    "Refused 429 unknown",
  ],
  ["prices()", { status: 204, body: "" }, "Refused 204 unknown"],
  ["prices()", { status: 304, body: "" }, "Refused 304 unknown"],
];

withPython("each lie of a server ends in Refused, Damaged or OSError", async () => {
  // Each lie has an origin of its own.
  answerOf = (path) => (LIES[Number(/^\/(\d+)/.exec(path)?.[1])] as (typeof LIES)[number])[1];
  const calls = LIES.map(([call]) => call);
  const said = await client.print(`${PRELUDE}
for number, call in enumerate(json.loads(${JSON.stringify(JSON.stringify(calls))})):
    try:
        print("got", repr(eval("Client(f'${origin}/{number}', key, patience=0)." + call))[:80])
    except Refused as refusal:
        print("Refused", refusal.status, refusal.code)
    except Exception as error:
        print(type(error).__name__)`);
  const shown = ({ status, fields, body }: Lie): unknown => [
    status,
    fields,
    String(body).slice(0, 60),
  ];
  expect(
    said
      .trimEnd()
      .split("\n")
      .map((line, at) => [calls[at], shown(LIES[at]![1]), line]),
  ).toEqual(LIES.map(([call, lie, expected]) => [call, shown(lie), expected]));
});

withPython("a list of more publications than it has numbers is refused at once", async () => {
  const asked: string[] = [];
  answerOf = (path) => {
    asked.push(path);
    const after = Number(new URL(path, origin).searchParams.get("after"));
    return json({ publications: [{}, {}], next: after + 1 });
  };
  const said = await client.print(`${PRELUDE}
try:
    Client("${origin}", key, patience=0).publications()
except Damaged as error:
    print(error)`);
  expect([said, asked.length]).toEqual(["the list of publications has no end\n", 1]);
});

withPython("an answer that comes byte by byte without end is given up", async () => {
  for (const first of ["", "HTTP/1.1 200 Told\r\nx-a: ", "HTTP/1.1 200 Told\r\n\r\n"]) {
    const endless = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(first);
      const drips = setInterval(() => socket.write("a"), 50);
      socket.on("close", () => clearInterval(drips));
    });
    await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
    const { port } = endless.address() as AddressInfo;
    try {
      const said = await client.print(`${PRELUDE}
try:
    Client("http://127.0.0.1:${port}", key, timeout=0.3, patience=0).prices()
except OSError as error:
    print(error)`);
      expect([first, said]).toEqual([first, expect.stringMatching(/takes too long|timed out/)]);
    } finally {
      endless.close();
    }
  }
});

withPython(
  "a copy that begins with one file and goes on with another is damaged or whole",
  async () => {
    const whole = `${HISTORY}a,2026-11-20,1,1\r\n`;
    const made = { number: 8, action: "publish", snapshot: "2026-11-21T12Z/r1", corrections: 0 };
    const before = { ...made, number: 7, snapshot: "2026-11-21T00Z/r1" };
    const about = { "x-snapshot": before.snapshot, "x-session-utc": "2026-11-21T00:00:00.000Z" };
    const copied = { ...before, session_utc: about["x-session-utc"] };
    const entries = (...publications: unknown[]): Lie => json({ publications, next: null });
    const lists: readonly Lie[] = [
      PAGE,
      entries({}),
      entries({ ...before, session_utc: 5 }, made),
      entries(copied, {}),
      entries(copied, { ...made, session_utc: null }),
      entries(copied, { ...made, session_utc: "0001-01-01T00:00:00Z" }),
      entries(copied, { ...made, number: {}, session_utc: "2026-11-21T12:00:00.000Z" }),
      entries(copied, { ...made, session_utc: "2026-11-21T12:00:00.000Z" }),
    ];
    let asked = 0;
    answerOf = (path) => {
      if (path.startsWith("/publications")) return lists[asked++] as Lie;
      if (path.startsWith("/sums")) return { body: "no list" };
      return csv(whole, about);
    };
    const said = await client.print(`${PRELUDE}
client = Client("${origin}", key)
print(client.sync("lied.sqlite").is_whole)
for _ in range(${lists.length}):
    try:
        print(client.sync("lied.sqlite").publication)
    except Damaged:
        print("Damaged")`);
    expect(said.trimEnd().split("\n")).toEqual(["True", ...lists.map(() => "Damaged")]);
  },
);

withPython(
  "watch goes on after pages of a front and damaged answers, and tells what came",
  async () => {
    const about = (number: number) => ({
      "x-publication": String(number),
      "x-session-utc": `2026-11-${number}T00:00:00.000Z`,
    });
    const entry = { number: 8, action: "publish", snapshot: "2026-11-21T12Z/r1", corrections: 1 };
    const list = json({ publications: [entry], next: null });
    const board = (value: unknown): Lie => json({ ...BOARD, memory: [value] }, about(8));
    const good = board({ id: "a", spot_usd: 12 });
    const correction = { contract_id: "a", corrected_in: entry.snapshot };
    /** What each look gets: the list, the board, the corrections. */
    const looks: readonly (readonly Lie[])[] = [
      [PAGE],
      [DEEP],
      [{ status: 502, body: "<html>" }],
      [{ status: 500, body: '{"code":"internal","detail":"It failed."}' }],
      [{ status: 403, body: "<html>" }],
      [{ status: 302, fields: { location: "https://login.example/" }, body: "" }],
      [json({ publications: [{}], next: null })],
      [json({ publications: [{ ...entry, number: "8" }], next: null }), good],
      [list, PAGE],
      [list, { body: Buffer.from("{}"), fields: { "unencoded-digest": "none" } }],
      [list, board({})],
      // It asks where the contract is that left the board.
      [list, board({ id: "b", spot_usd: 1 }), json({ corrections: [] }), PAGE],
      [list, board({ id: [], spot_usd: 1 }), json({ corrections: [] })],
      [list, board({ id: "a", spot_usd: "12" }), json({ corrections: [] })],
      [list, json({ ...BOARD, next_session_utc: null }, about(8)), json({ corrections: [] })],
      [list, good, json({ corrections: [{}] })],
      [list, good, json({ corrections: [{ ...correction, corrected_in: [] }] })],
      [list, good, json({ corrections: [correction] })],
      [{ status: 401, body: '{"code":"invalid_key","detail":"No such key."}' }],
    ];
    const answers = looks.flat();
    const contract = { id: "a", ticker: "A", formerly: [] };
    let next = -2;
    answerOf = () => {
      next += 1;
      if (next < 0) return json({ contracts: [contract], segments: [] });
      return next === 0
        ? json({ ...BOARD, memory: [{ id: "a", spot_usd: 9 }] }, about(7))
        : (answers[next - 1] as Lie);
    };
    const { stdout, stderr } = await client.run(`${PRELUDE}
try:
    for event in Client("${origin}", key).watch({"a": 10}, every_seconds=0):
        print(event["event"], flush=True)
except Refused as refusal:
    print(refusal)`);
    expect(stdout.trimEnd().split("\n")).toEqual([
      "session",
      "correction",
      "threshold",
      "401 invalid_key: No such key.",
    ]);
    // Each look in vain says why. The 502 of a front is tried again within the look.
    expect(new Set(stderr.trimEnd().split("\n"))).toEqual(
      new Set([
        "waiting 0 s: the answer is no JSON",
        "waiting 0 s: 500 internal: It failed.",
        "waiting 0 s: 403 unknown: no problem document",
        `waiting 0 s: redirected too often, or away from ${origin}`,
        "waiting 0 s: the answer has an unexpected form",
        "waiting 0 s: the answer is not what its digest says",
      ]),
    );
    expect(next).toBe(answers.length);
  },
);
