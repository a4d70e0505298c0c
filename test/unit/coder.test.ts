import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { codedForms } from "../../src/proxy/coder.ts";

const bodyOf = (at: number): Buffer => Buffer.from(`${at} `.repeat(2_000));

test("a body that comes just as the idle thread is let go is coded like any other", async () => {
  for (let at = 0; at < 3; at += 1) {
    await codedForms(bodyOf(at));
    // The thread is told to end after a second without work; it takes a moment to do so.
    await delay(1_000);
    const forms = await codedForms(bodyOf(at + 100));
    expect(gunzipSync(forms.get("gzip") as Buffer)).toEqual(bodyOf(at + 100));
  }
});

test("where the thread fails there is no form, a warning, and another thread", async () => {
  const warned = once(process, "warning");
  // No bytes at all: compressing them throws.
  expect(await codedForms({ length: 5 } as Buffer)).toEqual(new Map());
  expect(String(await warned)).toMatch(/A body of 5 bytes is not coded: TypeError/);
  expect((await codedForms(bodyOf(1))).size).toBe(2);
});
