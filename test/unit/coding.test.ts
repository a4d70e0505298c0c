/** Coded forms of bodies. Which one a caller gets is in test/http/semantics.test.ts. */
import { once } from "node:events";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { Coder } from "../../src/proxy/coding.ts";

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
