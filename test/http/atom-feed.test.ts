/** The Atom feed over sockets, as a validator and a feed reader see it. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { append, readHead } from "../store/log-entries.ts";
import {
  BROKEN,
  eventually,
  FREE_IDS,
  KEYED_IDS,
  publishedStore,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { testWith } from "./needed-tools.ts";

const run = promisify(execFile);
const SCHEMA = join(import.meta.dirname, "atom.rng");
/** Debian installs feedparser for this one. */
const PYTHON = "/usr/bin/python3";

let proxy: TestProxy;
afterEach(() => proxy.close());

/** Appends rollbacks to the head with these reasons. */
async function appendReasons(store: ObjectStore, reasons: readonly string[]): Promise<void> {
  const head = (await readHead(store)) as Publication;
  for (const reason of reasons) {
    await append(store, { ...head, action: "rollback", reason, corrections: 0 });
  }
}

const HOSTILE = [
  "<script>alert(1)</script> & more",
  "]]> <![CDATA[ x ]]> <!-- -->",
  "bell \u0007, escape \u001b[31m, null \0, \ufffe",
  "emoji 😀 and \u202eright to left\u202c, \u200f",
  "quotes \" ' and &amp; &#0; &undefined;",
  "tab\tline\nreturn\r\nend",
];

async function withFile<T>(text: string, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-feed-"));
  try {
    const file = join(folder, "feed.atom");
    await writeFile(file, text);
    return await use(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const isValid = (text: string): Promise<boolean> =>
  withFile(text, (file) =>
    run("xmllint", ["--noout", "--nonet", "--relaxng", SCHEMA, file]).then(
      () => true,
      () => false,
    ),
  );

testWith("xmllint")("is valid, with any reason", async () => {
  const store = await publishedStore();
  await publishSession(store, new TestClock(), SESSION, { usd: 12, revise: "Restated" });
  await appendReasons(store, HOSTILE);
  proxy = await startTestProxy({ store });
  const { text, headers } = await proxy.get("/feed.atom");
  expect(headers["content-type"]).toBe("application/atom+xml");
  expect(await isValid(text)).toBe(true);
  // The schema finds faults.
  for (const wrong of [
    text.replace(/<updated>.*?<\/updated>/, ""),
    text.replace("<feed ", "<feed x='1' "),
    text.replace(/<name>.*<\/name>/, ""),
    text.replace('term="rollback"', ""),
    text.replace("00:05:00.000Z</published>", "00:05:00.000</published>"),
    text.replace("</entry>", ""),
  ]) {
    expect(wrong).not.toBe(text);
    expect(await isValid(wrong)).toBe(false);
  }
});

const READER = `import feedparser, json, sys
feed = feedparser.parse(sys.argv[1])
print(json.dumps({
    "bozo": bool(feed.bozo), "version": feed.version, "id": feed.feed.id, "author": feed.feed.author,
    "updated": feed.feed.updated,
    "entries": [{"id": e.id, "title": e.title, "tag": e.tags[0].term, "updated": e.updated,
                 "text": e.content[0].value, "type": e.content[0].type, "link": e.link}
                for e in feed.entries]}))
`;

testWith(PYTHON, "feedparser")(
  "feedparser reads every entry, and its link leads to it",
  async () => {
    const store = await publishedStore();
    await appendReasons(store, HOSTILE);
    proxy = await startTestProxy({ store });
    const { stdout } = await run(PYTHON, ["-c", READER, `${proxy.url}/feed.atom`]);
    const feed = JSON.parse(stdout);
    expect(feed).toMatchObject({
      bozo: false,
      version: "atom10",
      author: "chipboard",
      updated: "2026-11-21T00:05:00.000Z",
    });
    expect(feed.entries).toHaveLength(7);
    const ids = [feed.id, ...feed.entries.map(({ id }: { id: string }) => id)];
    expect(new Set(ids).size).toBe(8);
    const [newest, ...others] = feed.entries;
    expect(others.at(-1)).toMatchObject({
      title: "Published 2026-11-21T00Z/r1",
      tag: "publish",
      text: "Session 2026-11-21T00:00:00.000Z, revision 1. Corrections: 0.",
      type: "text/plain",
    });
    expect(others.map(({ text }: { text: string }) => text.split("Reason: ")[1])).toEqual([
      "quotes \" ' and &amp; &#0; &undefined;",
      "emoji 😀 and \u202eright to left\u202c, \u200f",
      "bell \ufffd, escape \ufffd[31m, null \ufffd, \ufffd",
      "]]> <![CDATA[ x ]]> <!-- -->",
      "<script>alert(1)</script> & more",
      undefined,
    ]);
    expect(newest.link).toBe(`${proxy.url}/status`);
  },
);

test("has the last 100 publishes and rollbacks, no contract and no price", async () => {
  const store = await publishedStore();
  await appendReasons(
    store,
    Array.from({ length: 120 }, (_, at) => `Reason ${at}`),
  );
  proxy = await startTestProxy({ store });
  const { text } = await proxy.get("/feed.atom");
  expect(text.match(/<entry>/g)).toHaveLength(100);
  const reasons = [...text.matchAll(/Reason: Reason (\d+)/g)].map(([, at]) => Number(at));
  expect(reasons).toEqual(Array.from({ length: 100 }, (_, at) => 119 - at));
  for (const id of [...FREE_IDS, ...KEYED_IDS, BROKEN, "usd"]) {
    expect(text).not.toContain(id);
  }
});

test("the same bytes and tag from every proxy at every host, for everybody", async () => {
  const store = await publishedStore();
  const publicUrl = "https://prices.example/data";
  proxy = await startTestProxy({ store, publicUrl });
  const other = await startTestProxy({ store, publicUrl });
  try {
    const first = await proxy.get("/feed.atom");
    for (const options of [
      { key: other.pro },
      { key: "cbk_none" },
      { headers: { host: "prices.example" } },
      { headers: { "accept-encoding": "gzip" } },
    ]) {
      const { status, text, headers } = await other.get("/feed.atom", options);
      expect([status, text]).toEqual([200, first.text]);
      const addresses = [...text.matchAll(/ href="([^"]*)"/g)].map(([, address]) => address);
      expect(addresses).toContain(`${publicUrl}/feed.atom`);
      for (const address of addresses)
        expect(address).toMatch(/^https:\/\/prices\.example\/data\//);
      expect(headers["cache-control"]).toBe("public, max-age=60");
      expect(headers["last-modified"]).toBe("Sat, 21 Nov 2026 00:05:00 GMT");
      expect(headers.etag === first.headers.etag).toBe(!("content-encoding" in headers));
    }
  } finally {
    await other.close();
  }
});

test("304 until something is published; then the older entries keep their ids", async () => {
  proxy = await startTestProxy();
  const before = await proxy.get("/feed.atom");
  const headers = { "if-none-match": before.headers.etag as string };
  expect((await proxy.get("/feed.atom", { headers })).status).toBe(304);
  await publishSession(proxy.store, proxy.clock, SESSION, { usd: 12, revise: "Restated" });
  await eventually(async () => (await proxy.get("/feed.atom", { headers })).status === 200);
  const after = await proxy.get("/feed.atom");
  expect(after.text).toContain("Reason: Restated");
  const idsIn = (text: string) => [...text.matchAll(/<id>(.*)<\/id>/g)].map(([, id]) => id);
  const [feedId, firstId] = idsIn(before.text);
  expect(idsIn(after.text)).toEqual([feedId, expect.any(String), firstId]);
  const line = proxy.logged.findLast((text) => text.includes("/feed.atom")) as string;
  expect(JSON.parse(line)).toMatchObject({ route: "/feed.atom", status: 200, tier: "free" });
  const metrics = await (await fetch(proxy.metricsUrl)).text();
  expect(metrics).toMatch(
    /chipboard_requests_total\{route="\/feed.atom",status="304",tier="free"\} \d+/,
  );
});
