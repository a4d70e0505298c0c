/** The operator's door against strangers and broken messages, in workerd. */
import { afterAll, expect, test } from "vitest";
import { withDriver, withRegistry } from "../../src/state/open.ts";
import { startEdge } from "../../tools/edge/start-edge.ts";

const edge = await startEdge();
afterAll(() => edge.close());
const { origin, password: secret } = new URL(edge.state);
const clock = { now: () => Date.parse("2026-11-21T09:30:00.000Z") };
const ITEMS = { object: "registry", operation: "items", args: [] };

const post = (
  body: unknown,
  authorization: string | null = `Bearer ${secret}`,
): Promise<Response> =>
  fetch(origin, {
    method: "POST",
    headers: authorization === null ? {} : { authorization },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

test("with the secret it does each operation", async () => {
  const answer = await post(ITEMS);
  expect([answer.status, await answer.json()]).toEqual([200, []]);
});

test.each([
  ["no secret", null],
  ["another secret", `Bearer ${"0".repeat(64)}`],
  ["the beginning of it", `Bearer ${secret.slice(0, -1)}`],
  ["more than it", `Bearer ${secret}0`],
  ["another scheme", `Basic ${secret}`],
  ["an empty one", "Bearer "],
])("%s: 404, as if nothing were here", async (_, authorization) => {
  const answer = await post(ITEMS, authorization);
  expect([answer.status, await answer.text()]).toEqual([404, ""]);
});

test.each(["GET", "PUT", "DELETE", "OPTIONS", "HEAD"])(
  "%s: 404, also with the secret",
  async (method) => {
    const headers = { authorization: `Bearer ${secret}` };
    const paths = ["/", "/items", `/?secret=${secret}`];
    for (const path of paths)
      expect((await fetch(origin + path, { method, headers })).status).toBe(404);
  },
);

test.each([
  ["no JSON", "{"],
  ["no object", { operation: "items", args: [] }],
  ["another object", { ...ITEMS, object: "registry2" }],
  ["an account's object with a path", { ...ITEMS, object: "account:../registry" }],
  ["an operation of the class itself", { ...ITEMS, operation: "constructor" }],
  ["an operation of every object", { ...ITEMS, operation: "__proto__" }],
  ["the handler of requests", { ...ITEMS, operation: "fetch" }],
  ["an operation of another object", { ...ITEMS, operation: "take" }],
  ["a change that is none", { ...ITEMS, operation: "write", args: ["", "no items", false] }],
])("%s: refused, and nothing is changed", async (_, body) => {
  const answer = await post(body);
  expect(answer.ok).toBe(false);
  expect(await (await post(ITEMS)).json()).toEqual([]);
});

test("a message that is larger than any is not read", async () => {
  // The connection may end before all of it is sent.
  const status = await post(" ".repeat(32_000_001)).then(
    (answer) => answer.status,
    () => "cut",
  );
  expect([413, "cut"]).toContain(status);
});

test("a change of accounts without its entry in their log is refused", async () => {
  const change = (item: string) =>
    post({ ...ITEMS, operation: "write", args: ["", [[item, "{}"]], false] });
  for (const item of ["accounts:acme", "keys:0", "key-ids:cbk_00000000"])
    expect((await change(item)).status).toBe(500);
  expect(await (await post(ITEMS)).json()).toEqual([]);
});

test("counts of days are forgotten after 62 days, counts of months and keys stay", async () => {
  const ask = async (operation: string, args: readonly unknown[]): Promise<unknown> =>
    (await post({ object: "account:a1", operation, args })).json();
  const call = { subject: "account:a1", limit: null, added: 0 };
  const days = ["2026-09-03", "2026-09-03", "2026-09-20", "2026-10-01", "2026-10-31"];
  for (const day of days)
    await ask("take", [{ ...call, atMs: Date.parse(day), keyId: "cbk_00000000" }]);
  await ask("take", [{ ...call, atMs: Date.parse("2026-09-01"), keyId: null }]);
  const subjects = [
    ["account:a1", "2026-09"],
    ["key:cbk_00000000", "2026-09"],
    ["key:cbk_00000000:day", "2026-09"],
    ["day:03:a1", "2026-09"],
    ["day:20:a1", "2026-09"],
    ["day:01:a1", "2026-10"],
    ["day:31:a1", "2026-10"],
  ];
  const names = subjects.map(([subject, month]) => ({ subject, month }));
  expect(await ask("used", [names])).toEqual([4, 3, 20, 2, 1, 1, 1]);
  const all = async () =>
    ((await ask("counts", ["a1"])) as { subject: string; month: string }[]).map(
      ({ subject, month }) => `${month} ${subject}`,
    );
  const before = await all();
  // 62 days before it is the first of October.
  for (let times = 0; times < 2; times += 1) {
    await ask("forget", [Date.parse("2026-12-01")]);
    expect(await ask("used", [names])).toEqual([4, 3, 20, 0, 0, 1, 1]);
  }
  const gone = ["2026-09 day:01:a1", "2026-09 day:03:a1", "2026-09 day:20:a1"];
  expect((await all()).sort()).toEqual(before.filter((name) => !gone.includes(name)).sort());
});

test("accounts, keys and links change by it, each with its entry in the log", async () => {
  await withRegistry(edge.state, clock, "create", async (registry) => {
    await registry.addAccount("acme", "pro", null);
    const { key } = await registry.createKey("acme", "desk");
    await registry.createLink("acme", "/export.csv", null);
    await registry.revokeKey(key.slice(0, 12));
  });
  const { items } = await withDriver(edge.state, "use", (driver) => driver.readAll());
  const actions = items
    .filter(([name]) => name.startsWith("facts:account-log:"))
    .map(([, json]) => (JSON.parse(json) as { action: string }).action);
  expect(actions).toEqual(["accounts add", "keys create", "links create", "keys revoke"]);
});

test.each([
  ["http://:secret@prices.example", "expected https://:SECRET@host"],
  ["https://prices.example", "expected https://:SECRET@host"],
  ["https://:50%@prices.example", "expected https://:SECRET@host"],
  [origin.replace("//", "//:wrong@"), "there is no door at this address, or it has another secret"],
  ["https://:secret@127.0.0.1:9", "cannot be used"],
])("%s is refused in words, without the secret", async (location, words) => {
  const failing = withDriver(location, "use", async () => {});
  await expect(failing).rejects.toThrow(words);
  await expect(failing).rejects.not.toThrow("wrong@");
});
