/** The gate `clock` on S3: a front of the real server changes the time of its answers. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { keysOf } from "../contract/store.contract.ts";
import type { Ran } from "../program/program.ts";
import { testService } from "../services/services.ts";
import {
  chipboard,
  market,
  NEXT_SESSION,
  SESSION,
  writeMarket,
  type MarketFiles,
} from "./cluster-fixture.ts";

const s3 = testService("s3");
/** The SDK signs by the time of the answers, and the server bears a quarter of an hour. */
const AHEAD_MS = 10 * 60_000;

describe.skipIf(s3 === null)("a store whose server says another time", () => {
  const env = s3?.env ?? {};
  const endpoint = new URL(env["CHIPBOARD_TEST_S3_ENDPOINT"] ?? "http://127.0.0.1");
  const location = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`;
  let folder: string;
  let files: MarketFiles;
  let front: Server;
  let wrong: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-clock-"));
    files = await writeMarket(folder);
    front = createServer((asked, answer) => {
      const { method, url: path, headers } = asked;
      const { hostname: host, port } = endpoint;
      const passed = request({ host, port, method, path, headers }, (response) => {
        const date = new Date(Date.now() + AHEAD_MS).toUTCString();
        answer.writeHead(response.statusCode ?? 500, { ...response.headers, date });
        response.pipe(answer);
      });
      asked.pipe(passed);
    }).listen(0, "127.0.0.1");
    await once(front, "listening");
    wrong = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    front.close();
    s3?.stop();
    await rm(folder, { recursive: true });
  });

  const run = (words: string, server = wrong, now = "2026-11-21T12:05:00Z"): Promise<Ran> => {
    const place = `--store ${location} --s3-path-style --s3-endpoint ${server}`;
    const settings = { ...env, CHIPBOARD_NOW: now };
    return chipboard(`${words} ${place}`.split(" "), settings);
  };
  const content = async (): Promise<string[]> => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const store = await openStore(location, { endpoint: endpoint.href, pathStyle: true });
    try {
      return await keysOf(store, "");
    } finally {
      await store.close();
      vi.unstubAllEnvs();
    }
  };

  /** Refused, also as a dry run, and nothing is written; then accepted. */
  async function expectGate(words: string, way: string, now?: string): Promise<void> {
    const before = await content();
    const lines = words.includes("rollback") ? [words] : [`${words} --dry-run`, words];
    for (const line of lines) {
      const { code, stdout, stderr } = await run(line, wrong, now);
      expect([code, stdout]).toEqual([3, ""]);
      expect(stderr).toMatch(
        new RegExp(
          `: it is (?:9|10) minutes behind, expected at most 5\n  If the machine's clock is right, ${way} with --accept clock\n$`,
        ),
      );
      expect(stderr).toContain(` when ${location} said `);
    }
    expect(await content()).toEqual(before);
    expect(await run(`${words} --accept clock`, wrong, now)).toMatchObject({ code: 0 });
  }

  test("every command that appends is refused, and --accept clock lets it through", async () => {
    const early = "2026-11-21T00:05:00Z";
    expect(await run("store init", endpoint.href)).toMatchObject({ code: 0 });
    const first = `publish --catalog ${files.catalog} --quotes ${files.quotes} --session ${SESSION}`;
    await expectGate(first, "publish", early);
    const fix = join(folder, "fix.csv");
    await writeFile(fix, market.quotes(SESSION, 1.5));
    await expectGate(`publish --quotes ${fix} --session ${SESSION} --revise x`, "publish", early);
    const next = `publish --quotes ${files.nextQuotes} --session ${NEXT_SESSION} --accept board`;
    expect(await run(next, endpoint.href)).toMatchObject({ code: 0 });
    await expectGate("snapshots prune --keep-days 0", "run this again");
    await expectGate(`snapshots rollback ${SESSION} --reason x`, "run this again");
  });
});
