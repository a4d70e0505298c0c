/** Many publishers at once, and an S3 server that is killed during a publish. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createClock } from "../../src/lib/clock.ts";
import { ConflictError, UnreachableError } from "../../src/lib/errors.ts";
import { sourceOf } from "../../src/feed/source.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { USUAL_REQUEST, type Progress } from "../../src/publish/request.ts";
import { publish } from "../store/begun.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../services/services.ts";
import {
  market,
  NEXT_SESSION,
  NOW,
  SESSION,
  tally,
  until,
  verified,
  writeMarket,
  type Environment,
  type MarketFiles,
} from "./cluster-fixture.ts";

const PUBLISHERS = 20;

const service = testService("s3");
let folder: string;
let files: MarketFiles;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-publishers-"));
  files = await writeMarket(folder);
});
afterAll(async () => {
  service?.stop();
  await rm(folder, { recursive: true });
});

test("20 publishers at once in a folder", async () => {
  const location = join(folder, "snapshots");
  await raceIn(() => openStore(location));
});

describe.skipIf(service === null)("on S3", () => {
  const env = service?.env ?? {};
  const endpoint = env["CHIPBOARD_TEST_S3_ENDPOINT"] ?? "";

  test("20 publishers at once", async () => {
    useCredentials(env);
    const location = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`;
    await raceIn(() => openStore(location, { endpoint, pathStyle: true }));
  });

  test("if the server is killed during a publish, the old head stays, and the next run succeeds", async () => {
    const own = testService("s3", true);
    if (own === null) throw new Error("The programs of the other tests' server are gone");
    onTestFinished(() => own.stop());
    useCredentials(own.env);
    const ownEndpoint = own.env["CHIPBOARD_TEST_S3_ENDPOINT"] as string;
    const location = `s3://${own.env["CHIPBOARD_TEST_S3_BUCKET"]}/p`;
    const settings = { endpoint: ownEndpoint, pathStyle: true };
    const store = await openStore(location, settings);
    onTestFinished(() => store.close());
    await run(store, SESSION, files.quotes);

    const gateway = new Gateway(own.pids["rgw"] as number);
    onTestFinished(() => gateway.kill());
    const interrupted = run(store, NEXT_SESSION, files.nextQuotes, (stage, done, total) => {
      if (stage === "Rendering" && done === Math.floor((total as number) / 2)) void gateway.kill();
    });
    await expect(interrupted).rejects.toThrow(UnreachableError);
    await expect(interrupted).rejects.toThrow(/^--store "s3:[^\n]+; check --s3-endpoint$/);

    await gateway.start(ownEndpoint);
    const old = await verified(store);
    expect([old.publications, old.manifest.session_utc]).toEqual([1, "2026-11-21T00:00:00.000Z"]);
    expect(old.orphans.length).toBeGreaterThan(0);
    expect((await run(store, NEXT_SESSION, files.nextQuotes)).outcome).toBe("published");
    const { publications, manifest } = await verified(store);
    expect([publications, manifest.session_utc, manifest.revision]).toEqual([
      2,
      "2026-11-21T12:00:00.000Z",
      2,
    ]);
  });
});

/** 20 publishers, each with a store of its own, half of them with other levels: one publishes. */
async function raceIn(open: () => Promise<ObjectStore>): Promise<void> {
  const feed = await feedForAll();
  const stores = await Promise.all(Array.from({ length: PUBLISHERS }, open));
  const answers = await Promise.all(
    stores.map((store) =>
      run(store, SESSION, feed.url).then(
        ({ outcome, manifest }) => [outcome, manifest.identity],
        (error: unknown) => [error instanceof ConflictError ? error.message : String(error), null],
      ),
    ),
  );
  feed.close();
  await expectOne(stores[0] as ObjectStore, answers);
  await Promise.all(stores.map((store) => store.close()));
}

/** A feed that answers only when all publishers have asked: half of them get other levels. */
async function feedForAll(): Promise<{ url: string; close(): void }> {
  const waiting: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    if (waiting.push(response) < PUBLISHERS) return;
    for (const [at, each] of waiting.entries()) {
      each.writeHead(200, { "content-type": "text/csv" });
      each.end(market.quotes(SESSION, at % 2 === 0 ? 1 : 3));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/quotes.csv`, close: () => server.close() };
}

/** One publisher published, those with the same levels had nothing to do, the others got a conflict. */
async function expectOne(store: ObjectStore, answers: unknown[][]): Promise<void> {
  expect(tally(answers.map(([outcome]) => outcome))).toEqual({
    published: 1,
    unchanged: PUBLISHERS / 2 - 1,
    'The input changes 12 published levels; if it is right, publish with --revise "reason"':
      PUBLISHERS / 2,
  });
  const { publications, manifest, orphans } = await verified(store);
  expect([publications, orphans]).toEqual([1, []]);
  const published = answers.find(([outcome]) => outcome === "published");
  expect(published?.[1]).toBe(manifest.identity);
}

function useCredentials(env: Environment): void {
  vi.stubEnv("AWS_ACCESS_KEY_ID", env["AWS_ACCESS_KEY_ID"]);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", env["AWS_SECRET_ACCESS_KEY"]);
  vi.stubEnv("AWS_REGION", env["AWS_REGION"]);
}

const run = (
  store: ObjectStore,
  session: string,
  quotes: string,
  progress: Progress = () => {},
): Promise<PublishResult> =>
  publish(
    {
      ...USUAL_REQUEST,
      catalog: sourceOf(files.catalog),
      quotes: [sourceOf(quotes)],
      session: parseSession(session) as Session,
      gates: {
        maxMoveMicros: 50_000_000,
        maxIndexMoveMicros: 25_000_000,
        maxBoardMoveMicros: 15_000_000,
        minCoverageMicros: 80_000_000,
        maxUnchangedSessions: 8,
        maxGapSessions: 14,
        maxCarryDays: 45,
        acceptMoves: false,
        allowSparse: false,
      },
    },
    store,
    createClock(NOW),
    progress,
  );

/** The process of an S3 gateway, which can be killed and started again over the same objects. */
class Gateway {
  readonly #command: readonly string[];
  readonly #folder: string;
  #pid: number | null;
  #child: ChildProcess | null = null;

  constructor(pid: number) {
    this.#pid = pid;
    this.#command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
    this.#folder = readlinkSync(`/proc/${pid}/cwd`);
  }

  async kill(): Promise<void> {
    if (this.#pid === null) return;
    process.kill(this.#pid, "SIGKILL");
    this.#pid = null;
    if (this.#child !== null) await once(this.#child, "exit");
  }

  async start(endpoint: string): Promise<void> {
    const [program = "", ...args] = this.#command;
    this.#child = spawn(program, args, { cwd: this.#folder, stdio: "ignore" });
    this.#pid = this.#child.pid as number;
    await until(() =>
      fetch(endpoint).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  }
}
