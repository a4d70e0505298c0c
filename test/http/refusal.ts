/** A refusal: its status, and a problem document that says the same. */
import { expect } from "vitest";
import { PROBLEMS, type ProblemCode } from "../../src/public/problems.ts";
import type { Received } from "./client.ts";
import type { TestProxy } from "./fixture.ts";

/** Sends a request that must be refused with the code, and returns the answer. */
export async function expectCode(
  of: TestProxy,
  path: string,
  options: Parameters<TestProxy["get"]>[1],
  code: ProblemCode,
  status: number = PROBLEMS[code].status,
): Promise<Received> {
  const received = await of.get(path, options);
  expect([received.status, received.json?.code]).toEqual([status, code]);
  // Some of these proxies have a public address.
  expect(received.json.type.replace(/^https:\/\/[^/]+/, "")).toBe(`/docs#${code}`);
  expect(received.json.title).toBe(PROBLEMS[code].title);
  return received;
}
