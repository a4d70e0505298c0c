/** `check`: proves answers of a service over HTTP, and names the link that somebody on the way broke. */
import { writeFileSync } from "node:fs";
import { lstat, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, request as httpRequest, type Server } from "node:http";
import {
  connect as connectTo,
  createServer as createSocketServer,
  type AddressInfo,
  type Socket,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { check, type CheckRequest } from "../../src/check/check.ts";
import type { Step } from "../../src/check/step.ts";
import { DamageError, InputError, UnreachableError } from "../../src/lib/errors.ts";
import { inProcess } from "../cli/run.ts";
import { workshop } from "../cli/signed.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { dataPaths } from "./addresses.ts";
import { digestField } from "./client.ts";
import { eventually, sessionsMs, startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { CLOCK_MS, newKey, OPERATOR, rollBackTo, signedStore, SNAPSHOTS } from "./signed-log.ts";

const API = "/api/public/v1";
const verifyKeys = [OPERATOR.verifyKey];

let proxy: TestProxy;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-check-"));
  proxy = await startTestProxy({ store: await signedStore(), clock: new TestClock(CLOCK_MS) });
});
afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  proxy.clock.ms = CLOCK_MS;
});

/** The proven links, and the messages about the others. */
async function checked(request: Partial<CheckRequest>): Promise<Record<string, boolean | string>> {
  const steps: Step[] = [];
  const whole = { url: proxy.url, key: null, verifyKeys, remember: null, ...request };
  await check(whole, (step) => steps.push(step), 10);
  return Object.fromEntries(steps.map(({ link, isProven, text }) => [link, isProven || text]));
}
const failure = (request: Partial<CheckRequest>): Promise<unknown> =>
  checked(request).then(
    () => null,
    (error: unknown) => error,
  );
const ALL = { answer: true, sums: true, root: true, log: true, signature: true };
const keyOf = (tier: string): string | null =>
  tier === "free" ? null : tier === "pro" ? proxy.pro : proxy.starter;

const PATHS = {
  free: ["", ...dataPaths("free")],
  starter: dataPaths("starter", ["nand-0"]),
  pro: [
    ...dataPaths("pro", ["chip-0"]),
    // An index by its name.
    `${API}/indices/DRAM`,
    `${API}/prices?publication=1`,
    `${API}/export.csv?publication=2`,
    `${API}/prices?as_of=2026-11-21T00:05:00Z`,
  ],
};

describe.each(Object.entries(PATHS))("%s", (tier, paths) => {
  test.each([0, 1, 5])("every address is proven, %i sessions late", async (late) => {
    proxy.clock.ms = CLOCK_MS + sessionsMs(late) + (late === 0 ? 0 : 3_600_000);
    for (const path of paths) {
      const url = proxy.url + path;
      expect([path, await checked({ url, key: keyOf(tier) })]).toEqual([
        path,
        { ...ALL, memory: "Earlier checks are not compared without --remember" },
      ]);
    }
  });
});

describe("what cannot be proven is said", () => {
  test("a basket, but the log behind it is", async () => {
    const url = `${proxy.url}${API}/index?ids=dram-0,dram-1&weights=1,2`;
    expect(await checked({ url, key: proxy.pro })).toMatchObject({
      answer: true,
      sums: expect.stringContaining("not provable: the service computes baskets"),
      log: true,
      signature: true,
    });
  });
});

test("it costs two calls, and says where the quota is spent", async () => {
  const spent = await startTestProxy({
    store: await signedStore(),
    clock: new TestClock(CLOCK_MS),
  });
  try {
    const { url, starter } = spent;
    const left = async (key?: string): Promise<unknown> =>
      (await spent.get(`${API}/usage`, key === undefined ? {} : { key })).json.remaining;
    expect(await checked({ url, key: starter })).toMatchObject(ALL);
    expect(await left(starter)).toBe(24_998);
    for (let calls = 0; calls < 999; calls += 27) {
      await Promise.all(Array.from({ length: 27 }, () => spent.get(`${API}/prices`)));
    }
    expect(await left()).toBe(1);
    const last = await inProcess(["check", url]);
    expect([last.code, last.stdout]).toEqual([5, expect.stringMatching(/^proven {6}answer .*\n$/)]);
    expect(last.stderr).toMatch(
      /\/sums\?publication=3 answers 429 quota_exceeded: All 1000 calls .*; expected the SHA256SUMS of the tier, which cost a call/,
    );
    expect(await left()).toBe(0);
    const none = await inProcess(["check", url]);
    expect([none.code, none.stdout]).toEqual([5, ""]);
    expect(none.stderr).toMatch(/\/prices answers 429 quota_exceeded: All 1000 calls/);
  } finally {
    await spent.close();
  }
});

describe("the memory", () => {
  const file = (): string => join(folder, "seen");
  const entry = async (number: number): Promise<{ number: number; sha256: string }> => ({
    number,
    sha256: sha256Hex((await proxy.get(`/log/${number}`)).raw),
  });
  afterEach(() => rm(file(), { force: true }));

  test("holds the newest entry, and the next check goes on from it", async () => {
    const store = await signedStore();
    const growing = await startTestProxy({ store, verifyKeys, clock: new TestClock(CLOCK_MS) });
    try {
      const { url } = growing;
      expect(await checked({ url, remember: file() })).toMatchObject(ALL);
      const first = JSON.parse(await readFile(file(), "utf8"));
      expect(first).toEqual({ number: 3, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
      await rollBackTo(store, SNAPSHOTS[1], OPERATOR);
      await eventually(async () => (await growing.get("/readyz")).json.publication === 4);
      expect(await checked({ url, remember: file() })).toEqual({ ...ALL, memory: true });
      expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ number: 4 });
      // What an older answer proves does not make it forget.
      const old = `${url}${API}/prices?publication=1`;
      expect(await checked({ url: old, key: growing.pro, remember: file() })).toMatchObject(ALL);
      expect(JSON.parse(await readFile(file(), "utf8"))).toMatchObject({ number: 4 });
    } finally {
      await growing.close();
    }
  });

  test("stays as it is if a link is broken, and another log is noticed", async () => {
    for (const [memory, words] of [
      [{ number: 9, sha256: "0".repeat(64) }, /ends with entry 3, and entry 9 was seen before/],
      [
        { number: 2, sha256: "0".repeat(64) },
        /Entry 2 of the log has the SHA-256 .* seen before has 0{64}/,
      ],
    ] as const) {
      await writeFile(file(), JSON.stringify(memory));
      const error = await failure({ remember: file() });
      expect(error).toBeInstanceOf(DamageError);
      expect((error as Error).message).toMatch(words);
      expect(JSON.parse(await readFile(file(), "utf8"))).toEqual(memory);
    }
  });

  test.each(["", "{}", "[]", '{"number":9007199254740993,"sha256":"aa"}', '{"number":0}'])(
    "a file with %j is refused",
    async (text) => {
      await writeFile(file(), text);
      const error = await failure({ remember: file() });
      expect(error).toBeInstanceOf(InputError);
      expect((error as Error).message).toContain(
        'expected a file of an earlier check: {"number":42',
      );
      expect(await readFile(file(), "utf8")).toBe(text);
    },
  );

  test("what cannot be a memory is refused", async () => {
    await writeFile(file(), "1".repeat(10_000));
    for (const [remember, words] of [
      [folder, /^--remember ".*": cannot be read: EISDIR/],
      [join(folder, "none/seen"), /^--remember ".*": cannot be written: ENOENT/],
      [file(), /expected a file of an earlier check/],
    ] as const) {
      const error = await failure({ remember });
      expect(error).toBeInstanceOf(InputError);
      expect((error as Error).message).toMatch(words);
    }
  });

  test("a link stays, and its target is replaced", async () => {
    const place = join(folder, "place");
    await writeFile(place, JSON.stringify(await entry(1)));
    await symlink("place", file());
    expect(await checked({ remember: file() })).toEqual({ ...ALL, memory: true });
    expect((await lstat(file())).isSymbolicLink()).toBe(true);
    expect(JSON.parse(await readFile(place, "utf8"))).toEqual(await entry(3));
    expect(await readdir(folder)).toEqual(["place", "seen"]);
  });

  test("a check that ends later, but has seen less, does not make it forget", async () => {
    await writeFile(file(), JSON.stringify(await entry(1)));
    const newer = JSON.stringify({ number: 9, sha256: "9".repeat(64) });
    const change = (body: Buffer): Buffer => {
      writeFileSync(file(), newer);
      return body;
    };
    const found = await forwarding({ path: /\/log\/3$/, change }, (url) =>
      checked({ url, remember: file() }),
    );
    expect(found).toEqual({ ...ALL, memory: true });
    expect(await readFile(file(), "utf8")).toBe(newer);
  });
});

describe("a wrong request", () => {
  test.each([
    ["prices.example.com", /expected an address such as https:/],
    ["ftp://127.0.0.1/", /expected an address such as https:/],
    ["http://127.0.0.1/api/public/v1/usage", /expected one of \/api\/public\/v1\/prices,/],
    ["http://127.0.0.1/api/public/v1/prices?key=abc", /seems to contain a key/],
    [
      "http://127.0.0.1/api/public/v1/prices?asof=2026-11-21",
      /"asof".*expected ids, segment, publication, as_of/,
    ],
    ["http://127.0.0.1/api/public/v1/prices?publication=1&publication=2", /"2": expected once/],
    [
      "http://127.0.0.1/api/public/v1/prices?as_of=21 November",
      /expected a date, or an instant with Z/,
    ],
    [
      "http://127.0.0.1/?publication=1&as_of=2026-11-21T00:05Z",
      /expected publication or as_of, not both/,
    ],
    ["http://u:cbk_x@127.0.0.1/", /seems to contain a key/],
  ])("%s", async (url, words) => {
    const error = await failure({ url });
    expect(error).toBeInstanceOf(InputError);
    expect((error as Error).message).toMatch(words);
  });

  test.each([
    ["http://prices.example", false],
    ["http://192.0.2.1:8080/market/", false],
    ["http://[2001:db8::1]/", false],
    ["http://127.evil.example/", false],
    ["http://localhost.evil.example/", false],
    ["http://0.0.0.0:9/", false],
    ["http://127.0.0.1:9/", true],
    ["http://127.1:9/", true],
    ["http://[::1]:9/", true],
    ["http://[::ffff:127.0.0.1]:9/", true],
    ["http://localhost:9/", true],
    ["https://127.0.0.1:9/", true],
  ])("to %s a key may go: %s", async (url, mayGo) => {
    const error = await failure({ url, key: "cbk_secret" });
    expect(error).toBeInstanceOf(mayGo ? UnreachableError : InputError);
    const refusal = /^--key: .*over https or to this machine only.*https address/;
    if (!mayGo) expect((error as Error).message).toMatch(refusal);
    expect((error as Error).message).not.toContain("cbk_");
  });

  test("refusals of the service are named, and nothing quotes the key", async () => {
    for (const [path, key, words] of [
      ["/prices", "cbk_none", /answers 401 invalid_key/],
      ["/index", null, /answers 401 key_required/],
      ["/prices/none", null, /answers 404 unknown_contract/],
      ["/prices", "no key\n", /^--key: expected a key without spaces/],
    ] as const) {
      const error = await failure({ url: `${proxy.url}${API}${path}`, key });
      expect(error).toBeInstanceOf(InputError);
      expect((error as Error).message).toMatch(words);
      expect((error as Error).message).not.toMatch(/cbk_|no key/);
    }
    const away = await failure({ url: "http://127.0.0.1:9" });
    expect(away).toBeInstanceOf(UnreachableError);
  });

  test("a key that did not sign the log", async () => {
    const error = await failure({ verifyKeys: [newKey().verifyKey] });
    expect((error as Error).message).toMatch(
      /^Entry 3 of the log \(.*\) has a signature that does not fit it/,
    );
  });
});

interface Tampering {
  /** The answers to change; their digest is made to agree. */
  readonly path?: RegExp;
  readonly change?: (body: Buffer) => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Changes the path and query of every request. */
  readonly redirect?: (target: string) => string;
  /** The key to send instead of the caller's; null: none. */
  readonly key?: string | null;
}

/** Forwards everything to the proxy, and changes some of it on the way. */
async function forwarding<T>(
  { path = /^$/, change = (body) => body, headers = {}, redirect = (text) => text, key }: Tampering,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const server: Server = createServer((incoming, outgoing) => {
    const target = new URL(redirect(incoming.url ?? ""), proxy.url);
    const { authorization, ...others } = incoming.headers;
    const sentKey = key === undefined ? authorization : key === null ? undefined : `Bearer ${key}`;
    const sentHeaders = { ...others, ...(sentKey !== undefined && { authorization: sentKey }) };
    const onward = httpRequest(target, { headers: sentHeaders }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("end", () => {
        const isChanged = path.test(target.pathname) && answer.statusCode === 200;
        const body = Buffer.concat(pieces);
        const sent = isChanged ? change(body) : body;
        outgoing.writeHead(answer.statusCode ?? 500, {
          ...answer.headers,
          ...(isChanged && { "unencoded-digest": digestField(sent), ...headers }),
          "content-length": sent.length,
        });
        outgoing.end(sent);
      });
    });
    onward.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const flipped =
  (part: number) =>
  (body: Buffer): Buffer => {
    const changed = Buffer.from(body);
    const at = Math.min(body.length - 1, Math.floor(part * body.length));
    changed[at] = (changed[at] as number) ^ 1;
    return changed;
  };

describe("one byte changed on the way, and the digest with it", () => {
  const LINKS = [
    [/\/prices$/, /GET .*\/prices.*(?:SHA256SUMS of the tier free says|delayed sessions)/],
    [/\/export\.csv$/, /GET .*\/export\.csv.* SHA256SUMS of the tier pro says/],
    [/\/sums$/, /SHA256SUMS \(GET .*\/sums\?publication=3\) has the SHA-256/],
    [/\/log\/1$/, /[Ee]ntry [12] of the log/],
    [/\/log\/2$/, /[Ee]ntry [23] of the log/],
    [/\/log\/3$/, /[Ee]ntry 3\b/],
  ] as const;
  const PARTS = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1];

  test.each(LINKS)("of %s", async (path, words) => {
    for (const late of [0, 2]) {
      proxy.clock.ms = CLOCK_MS + sessionsMs(late) + (late === 0 ? 0 : 3_600_000);
      for (const part of PARTS) {
        const [answer, key] = path.source.includes("csv")
          ? ["/export.csv", proxy.pro]
          : ["/prices", null];
        const error = await forwarding({ path, change: flipped(part) }, (url) =>
          failure({ url: url + API + answer, key }),
        );
        expect(error).toBeInstanceOf(DamageError);
        expect((error as Error).message).toMatch(words);
      }
    }
  });

  test("in a field that says what the answer is", async () => {
    for (const [headers, words] of [
      [{ "x-publication": "2" }, /names the snapshot 2026-11-21T12Z\/r1, and entry 2/],
      [{ "x-publication": "9007199254740993" }, /names no entry of the log/],
      [{ "x-publication": "7" }, /names entry 7 of the log, which does not have it/],
      [{ "x-snapshot": "2026-11-21T12Z/r2" }, /names the snapshot 2026-11-21T12Z\/r2/],
      [{ "x-session-utc": "2026-11-21T12:00:00.000Z" }, /names the session 2026-11-21T12:00/],
      [{ "x-delayed-sessions": "2" }, /two numbers of delayed sessions/],
      [{ "x-snapshot": "" }, /names the snapshot , and entry 3/],
      [{ "unencoded-digest": "sha-256=:AAAA:" }, /but its unencoded-digest names another/],
      [{ "content-encoding": "gzip" }, /content coding gzip, expected none/],
    ] as const) {
      const error = await forwarding({ path: /\/prices$/, headers }, (url) => failure({ url }));
      expect(error).toBeInstanceOf(DamageError);
      expect((error as Error).message).toMatch(words);
    }
  });
});

describe("another question asked on the way", () => {
  const [FIRST, LAST] = ["as_of=2026-11-21T00:05:00Z", "as_of=2026-11-21T12:05:00Z"];
  test.each([
    ["/prices", "/prices?publication=1", /answers with entry 1, and the head is entry 3$/],
    ["/prices?publication=2", "/prices?publication=1", /entry 1, which was not asked for/],
    [`/prices?${LAST}`, `/prices?${FIRST}`, /entry 2, and the head at that instant is entry 3/],
    [`/prices?${FIRST}`, `/prices?${LAST}`, /entry 3, and the head at that instant is entry 2/],
    [`/index?${FIRST}`, "/index", /entry 3, and the head at that instant is entry 2/],
    [
      "/prices?as_of=2026-11-21T01:04:59%2B01:00",
      `/prices?${FIRST}`,
      /entry 2, and the head at that instant is an earlier one, or none$/,
    ],
    ["/prices/dram-0", "/prices/nand-0", /tier pro says [0-9a-f]{64} of contracts\/dram-0\.json/],
    ["/prices", "/export.csv", /tier pro says [0-9a-f]{64} of board\.json/],
    ["/indices/composite", "/index", /tier pro says [0-9a-f]{64} of indices\/composite\.json/],
  ])("%s becomes %s", async (asked, sent, words) => {
    const redirect = (text: string): string => (text === API + asked ? API + sent : text);
    const error = await forwarding({ redirect }, (url) =>
      failure({ url: url + API + asked, key: proxy.pro }),
    );
    expect(error).toBeInstanceOf(DamageError);
    expect((error as Error).message).toMatch(words);
  });

  test("the present, whose delay is raised, for the publication of then", async () => {
    proxy.clock.ms = CLOCK_MS + sessionsMs(2) + 3_600_000;
    for (const path of ["/prices", "/export.csv"]) {
      const asked = `${API}${path}?publication=3`;
      const redirect = (text: string): string => (text === asked ? API + path : text);
      const error = await forwarding({ redirect }, (url) =>
        failure({ url: url + asked, key: proxy.pro }),
      );
      expect((error as Error).message).toMatch(/names 2 delayed sessions, expected 0$/);
    }
  });

  test("with a key, without the key, with another", async () => {
    for (const [key, sent, words] of [
      [proxy.pro, null, /belongs to the tier free, and the key was sent$/],
      [null, proxy.pro, /belongs to the tier pro, and the key was not sent$/],
      [proxy.starter, "cbk_none", null],
    ] as const) {
      const error = await forwarding({ key: sent }, (url) => failure({ url, key }));
      expect(error).toBeInstanceOf(words === null ? InputError : DamageError);
      expect((error as Error).message).toMatch(words ?? /answers 401 invalid_key/);
    }
  });
});

describe("a server that lies", () => {
  test("files of another tier, and their sums", async () => {
    const starter = await proxy.get(`${API}/prices`, { key: proxy.starter });
    const sums = await proxy.get(`${API}/sums`, { key: proxy.starter });
    const board = { path: /\/prices$/, change: () => starter.body };
    const url = (base: string) => `${base}${API}/prices`;
    const plain = await forwarding(board, (base) => failure({ url: url(base), key: proxy.pro }));
    expect((plain as Error).message).toMatch(/two numbers of delayed sessions/);
    const other = await forwarding({ path: /\/sums$/, change: () => sums.body }, (base) =>
      failure({ url: url(base), key: proxy.pro }),
    );
    expect((other as Error).message).toMatch(
      /names the session|SHA256SUMS of the tier starter says/,
    );
  });

  test("what does not end is cut off", async () => {
    const huge = Buffer.alloc(100_000, " ");
    const tampering = { path: /\/log\/3$/, change: () => huge };
    const error = await forwarding(tampering, (url) => failure({ url }));
    expect(error).toBeInstanceOf(DamageError);
    expect((error as Error).message).toMatch(/\/log\/3 sends more than 60000 bytes/);
  });

  test("an answer without end is not read to its end", async () => {
    // More than may be under way when the reader gives up; the server ends there.
    const BOUND_BYTES = 300_000_000;
    let sentBytes = 0;
    const error = await atSocket((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-publication: 1\r\ncontent-type: text/plain\r\n\r\n");
      const piece = Buffer.alloc(1_000_000, " ");
      const more = (): void => {
        if (socket.destroyed || sentBytes > BOUND_BYTES) return;
        sentBytes += piece.length;
        if (socket.write(piece)) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    });
    expect((error as Error).message).toMatch(/\/prices sends more than 100000000 bytes/);
    expect(sentBytes).toBeLessThan(BOUND_BYTES);
  });

  const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  test.each([
    ["no HTTP", "HELLO 200 OK\r\n\r\n", /the reply is not HTTP/],
    ["a body that is not HTTP", `${CHUNKED}zz\r\n`, /the reply is not HTTP/],
    ["a chunk with too much beside it", `${CHUNKED}1;${"a".repeat(99_000)}`, /not HTTP/],
    ["a header without end", `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(9_000)}`, /not HTTP/],
    [
      "another protocol",
      "HTTP/1.1 101 A\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n",
      /changes the protocol/,
    ],
    ["a redirect", "HTTP/1.1 302 F\r\nlocation: /\r\ncontent-length: 0\r\n\r\n", /answers 302;/],
    [
      "a huge refusal",
      `HTTP/1.1 404 N\r\ncontent-type: application/problem+json\r\n\r\n${" ".repeat(99_000)}`,
      /\/prices sends more than 60000 bytes/,
    ],
    ["half an answer", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", null],
    ["a gateway that reaches no service", "HTTP/1.1 502 B\r\ncontent-length: 0\r\n\r\n", null],
  ])("%s", async (_what, answer, words) => {
    const error = await atSocket((socket) => socket.end(answer));
    expect(error).toBeInstanceOf(words === null ? UnreachableError : DamageError);
    expect((error as Error).message).toMatch(words ?? /connection ended|answers 502/);
  });

  test("connections that close when they are used again do not matter", async () => {
    const found = await atSocket(
      (socket, request) => {
        const onward = connectTo(Number(new URL(proxy.url).port), "127.0.0.1");
        onward.on("error", () => socket.destroy()).write(request);
        onward.pipe(socket);
        socket.on("data", () => socket.destroy()).on("close", () => onward.destroy());
      },
      (url) => checked({ url }),
    );
    expect(found).toMatchObject(ALL);
  });
});

/** The result for a server that does this with the first request of each connection. */
async function atSocket(
  answer: (socket: Socket, request: Buffer) => void,
  find: (url: string) => Promise<unknown> = (url) => failure({ url }),
): Promise<unknown> {
  const server = createSocketServer((socket) => {
    socket.on("error", () => undefined).once("data", (request) => answer(socket, request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await find(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

describe("the command", () => {
  test("says each step, and remembers", async () => {
    const shop = workshop();
    const { publicPem } = {
      publicPem: OPERATOR.verifyKey.key.export({ type: "spki", format: "pem" }),
    };
    await writeFile(shop.path("k.pub"), publicPem);
    const words = [
      "check",
      proxy.url,
      "--verify-key",
      shop.path("k.pub"),
      "--remember",
      shop.path("seen"),
    ];
    const first = await inProcess(words, { env: { CHIPBOARD_KEY: proxy.pro } });
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout.split("\n").map((line) => line.slice(0, 21).trim())).toEqual([
      "proven      answer",
      "proven      sums",
      "proven      root",
      "proven      log",
      "proven      signature",
      "not proven  memory",
      "",
    ]);
    expect(first.stdout).toContain("SHA256SUMS of the tier pro.");
    expect(first.stdout).toContain(`signed by ${OPERATOR.verifyKey.fingerprint}.`);
    const again = await inProcess([...words, "--json"]);
    const { steps } = JSON.parse(again.stdout);
    expect(
      steps.map(({ link, proven }: { link: string; proven: boolean }) => [link, proven]),
    ).toEqual([...Object.keys(ALL), "memory"].map((link) => [link, true]));
  });

  test("ends with 6 and the broken link, after the steps before it", async () => {
    const { code, stdout, stderr } = await forwarding(
      { path: /\/sums$/, change: flipped(0.5) },
      (url) => inProcess(["check", url]),
    );
    expect(code).toBe(6);
    expect(stdout).toMatch(/^proven {6}answer .*\n$/);
    expect(stderr).toMatch(/^error: SHA256SUMS \(GET .*\) has the SHA-256/);
  });
});
