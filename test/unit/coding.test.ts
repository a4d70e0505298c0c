/** Coded forms of bodies. Which one a caller gets is in test/http/semantics.test.ts. */
import { once } from "node:events";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { Coder } from "../../src/proxy/serve/coding.ts";
import { PreparedFile } from "../../src/proxy/serve/file.ts";

const bodyOf = (at: number): Buffer => Buffer.from(`${at} `.repeat(2_000));

test("bodies that are requested at the same time are each coded in both forms", async () => {
  const coder = new Coder();
  const bodies = [1, 2, 3].map(bodyOf);
  const coded = await Promise.all(bodies.map((body) => coder.forms(body)));
  for (const [at, forms] of coded.entries()) {
    expect(gunzipSync(forms.get("gzip") as Buffer)).toEqual(bodies[at]);
    expect(brotliDecompressSync(forms.get("br") as Buffer)).toEqual(bodies[at]);
  }
});

test("a form that is not smaller is left out", async () => {
  expect(await new Coder().forms(Buffer.from("x"))).toEqual(new Map());
});

test("if compression fails, there is no coded form and a warning; the next body is coded", async () => {
  const coder = new Coder();
  const warned = once(process, "warning");
  expect(await coder.forms({ length: 5 } as Buffer)).toEqual(new Map());
  expect(String(await warned)).toMatch(/A body of 5 bytes is not coded: TypeError/);
  expect((await coder.forms(bodyOf(1))).size).toBe(2);
});

test("a small body does not wait for large ones", async () => {
  const coder = new Coder();
  const done: string[] = [];
  const code = (name: string, body: Buffer): Promise<unknown> =>
    coder.forms(body).then(() => done.push(name));
  const large = Buffer.concat(Array.from({ length: 400 }, (_, at) => bodyOf(at)));
  const larges = ["1", "2", "3", "4", "5", "6"];
  await Promise.all([...larges.map((name) => code(name, large)), code("small", bodyOf(1))]);
  expect(done.at(-1)).toBe("6");
});

test("only callers who want a coded form wait for it", async () => {
  const body = bodyOf(1);
  const file = new PreparedFile(
    {
      stamp: {
        text: "2026-11-21T00Z/r1",
        manifestSha256: "",
        publication: 1,
        publishedAtMs: 0,
        head: 0,
        headMs: 0,
        graceMs: 0,
      },
      path: "pro/board.json",
      tier: "pro",
      position: { session: 0, delayedSessions: 0 },
      sizeBytes: body.length,
      sha256: "",
      mediaType: "application/json",
      nameEnd: null,
    },
    body,
    new Coder(),
  );
  const coded = file.forms(0, "gzip, br;q=0");
  for (const accept of [undefined, "", "identity", "gzip;q=0", "zstd"]) {
    expect([...(await file.forms(0, accept)).keys()]).toEqual(["identity"]);
  }
  expect([...(await coded).keys()].toSorted()).toEqual(["br", "gzip", "identity"]);
});
