/** Declares the tests of the transcripts beside this file (`*.http`); transcript.ts says what their lines mean. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { PROBLEMS, type ProblemCode } from "../../src/public/problems.ts";
import { API } from "../../src/public/routes.ts";
import type { CallOptions, Received } from "./client.ts";
import type { startTestProxy, TestProxy } from "./fixture.ts";
import { filled, parseTranscript, type Step } from "./transcript.ts";
import { TRANSCRIPT_SERVICES, type TranscriptService } from "./transcript-services.ts";

const FILES = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".http"));
export const transcriptOf = (file: string) =>
  parseTranscript(readFileSync(join(import.meta.dirname, file), "utf8"));

/**
 * Each transcript by one mouth: Node's host over a socket, the core without one, or the Worker. Tests in `failing` must
 * fail. Returns the names of all.
 */
export function runTranscripts(
  startMouth: typeof startTestProxy,
  failing: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const names = new Set<string>();
  describe.each(FILES)("%s", (file) => {
    const services = new Map<string, Promise<TranscriptService>>();
    const serviceOf = (name: string): Promise<TranscriptService> => {
      const start = TRANSCRIPT_SERVICES[name];
      if (start === undefined) throw new Error(`There is no service "${name}"`);
      const started = services.get(name) ?? start(startMouth);
      services.set(name, started);
      return started;
    };
    afterAll(async () => {
      for (const started of services.values()) {
        const { proxy, close } = await started;
        await close();
        expect(proxy.logged.join("")).not.toMatch(/cbk_\w{9}|"level":50/);
      }
    });

    for (const { title, services: asked, steps, rows } of transcriptOf(file)) {
      for (const [service, row] of asked.flatMap((each) =>
        rows.map((row) => [each, row] as const),
      )) {
        const of = asked.length === 1 ? [] : [service];
        const name = [title, ...of, ...[...row.values()].map((value) => value.slice(0, 60))].join(
          " | ",
        );
        names.add(`${file} > ${name}`);
        const declared = failing.has(`${file} > ${name}`) ? test.fails : test;
        declared(name, async () => {
          const { proxy, values } = await serviceOf(service);
          const known = new Map([...values, ...row]);
          const before = proxy.clock.ms;
          try {
            for (const step of steps) await follow(step, proxy, known);
          } finally {
            proxy.clock.ms = before;
          }
        });
      }
    }
  });
  return names;
}

/** Sends the request, and compares the answer. Adds the captured texts to `values`. */
async function follow(step: Step, proxy: TestProxy, values: Map<string, string>): Promise<void> {
  const fill = (text: string): string => filled(text, values);
  if (step.kind === "clock") {
    proxy.clock.ms = Date.parse(fill(step.at));
    return;
  }
  const fields: Record<string, string[]> = {};
  for (const [name, value] of step.fields) (fields[fill(name)] ??= []).push(asSent(fill(value)));
  const options = { method: fill(step.method), headers: fields };
  const target = fill(step.target);
  const isPriced = step.expected.some((each) => each.kind === "count" && each.of === "costs");
  const usedBefore = isPriced ? await usedBy(proxy, fields) : 0;
  const received = await proxy.get(target, options);
  const [status, code] = fill(step.status).split(" ");
  const where = `line ${step.line}: ${options.method} ${target.slice(0, 200)}`;
  expect([where, received.status, received.json?.code]).toEqual([where, Number(status), code]);
  if (code !== undefined) expectProblem(received, code as ProblemCode);
  if (received.status === 304) expect(received.raw.length).toBe(0);
  else if (options.method !== "HEAD" && received.status !== 204)
    expect(received.headers["content-length"], where).toBe(String(received.raw.length));
  const costs = isPriced ? (await usedBy(proxy, fields)) - usedBefore : 0;
  if (received.status === 206) await expectPart(received, target, options, proxy);
  const { headers, text } = received;
  for (const each of step.expected) {
    if (each.kind === "count") {
      const found = each.of === "costs" ? costs : received.json.errors.length;
      expect([where, each.of, found]).toEqual([where, each.of, Number(fill(each.count))]);
    } else if (each.kind === "capture") {
      const found = String(headers[each.name.toLowerCase()]);
      const [, value] = (each.isQuoted ? /^"(.+)"$/ : /^(.+)$/).exec(found) ?? [];
      if (headers[each.name.toLowerCase()] === undefined || value === undefined)
        throw new Error(`${where}: ${each.name} is ${found}`);
      values.set(each.as, value);
    } else if (each.kind === "field") {
      const found = headers[each.name.toLowerCase()];
      const value = fill(each.value);
      const [, pattern] = /^\/(.*)\/$/.exec(value) ?? [];
      if (pattern !== undefined)
        expect(found, `${where}: ${each.name}`).toMatch(new RegExp(pattern));
      else expect(found, `${where}: ${each.name}`).toBe(value === "-" ? undefined : value);
    } else if (each.isThere) expect(text, where).toContain(fill(each.text));
    else expect(text, where).not.toContain(fill(each.text));
  }
}

/** The bytes of a field's value in UTF-8, a character each, as Node sends and reads them. */
const asSent = (value: string): string => Buffer.from(value).toString("latin1");

/** A problem document says the same as the table of problems, and a 401 how to authenticate. */
function expectProblem({ json, headers }: Received, code: ProblemCode): void {
  expect(json).toMatchObject({ type: `/docs#${code}`, title: PROBLEMS[code].title });
  const challenges: Partial<Record<ProblemCode, string>> = {
    key_required: "Bearer",
    invalid_key: 'Bearer error="invalid_token"',
  };
  expect(headers["www-authenticate"]).toBe(challenges[code]);
}

/** A part is these bytes of the whole. */
async function expectPart(
  { raw, headers }: Received,
  target: string,
  { headers: sent }: CallOptions,
  proxy: TestProxy,
): Promise<void> {
  const others = Object.fromEntries(
    Object.entries(sent ?? {}).filter(([name]) => name.toLowerCase() !== "range"),
  );
  const whole = await proxy.get(target, {
    headers: { ...others, "Accept-Encoding": "identity" },
  });
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(
    headers["content-range"] as string,
  ) as RegExpExecArray;
  expect(whole.raw.length).toBe(Number(size));
  expect(raw.equals(whole.raw.subarray(Number(first), Number(last) + 1))).toBe(true);
}

/** The calls that the caller with these fields has used. */
async function usedBy(proxy: TestProxy, fields: Record<string, string[]>): Promise<number> {
  const keys = Object.entries(fields).filter(([name]) =>
    /^(?:authorization|x-api-key)$/i.test(name),
  );
  return (await proxy.get(`${API}/usage`, { headers: Object.fromEntries(keys) })).json.used;
}
