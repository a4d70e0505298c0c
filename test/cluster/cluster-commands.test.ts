/**
 * The commands' errors if S3 or Redis cannot be reached, refuses or cannot be used: one line with the
 * cause and the setting, the right exit code, and no change.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createState } from "../../src/state/open.ts";
import type { Ran } from "../program/program.ts";
import { RedisServer } from "../services/redis-server.ts";
import { testService } from "../services/services.ts";
import {
  chipboard,
  SESSION,
  writeMarket,
  type Environment,
  type MarketFiles,
} from "./cluster-fixture.ts";

const s3 = testService("s3");
const redis = testService("redis");
const NO_PORT = ["--port", "0", "--metrics-port", "off"];

let folder: string;
let files: MarketFiles;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-commands-"));
  files = await writeMarket(folder);
});
afterAll(async () => {
  s3?.stop();
  redis?.stop();
  await rm(folder, { recursive: true });
});

const publish = (store: readonly string[], env: Environment = {}): Promise<Ran> => {
  const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  return chipboard(["publish", ...feeds, ...store], env);
};

const serve = async (store: readonly string[], env: Environment = {}): Promise<Ran> => {
  const state = join(folder, `state-${randomUUID()}`);
  await createState(state);
  return chipboard(["serve", ...NO_PORT, "--state", state, ...store], env);
};

/** Expects, besides progress, one line with the cause and the setting, and no standard output. */
function expectRefusal({ code, stdout, stderr }: Ran, expected: number, reason: RegExp): void {
  const told = stderr.replaceAll(/^(?:Reading|Rendering) \d+\/\d+\n/gm, "");
  expect({ code, stdout, told }).toEqual({
    code: expected,
    stdout: "",
    told: expect.stringMatching(reason),
  });
  expect(told).toMatch(/^error: [^\n]+\n$/);
}

describe.skipIf(s3 === null)("--store s3://…", () => {
  const env = s3?.env ?? {};
  const endpoint = env["CHIPBOARD_TEST_S3_ENDPOINT"] as string;
  const bucket = env["CHIPBOARD_TEST_S3_BUCKET"] as string;
  const place = (store: string, server = endpoint): string[] =>
    ["--store", store, "--s3-path-style"].concat("--s3-endpoint", server);
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: {
      accessKeyId: env["AWS_ACCESS_KEY_ID"] ?? "",
      secretAccessKey: env["AWS_SECRET_ACCESS_KEY"] ?? "",
    },
  });
  afterAll(() => client.destroy());
  const keysIn = async (name: string, prefix: string): Promise<number> => {
    const { KeyCount } = await client.send(
      new ListObjectsV2Command({ Bucket: name, Prefix: prefix }),
    );
    return KeyCount ?? 0;
  };
  const refused = async (
    store: readonly string[],
    settings: Environment,
    code: number,
    reason: RegExp,
  ): Promise<void> => expectRefusal(await publish(store, settings), code, reason);

  test("a missing bucket", async () => {
    const store = place(`s3://no-such-${randomUUID()}`);
    const reason =
      /--store "s3:\/\/no-such-\S+": cannot (?:list "publications\/"|read "store\.json"): there is no such bucket; check --store$/m;
    await refused(store, env, 5, reason);
    expectRefusal(await serve(store, env), 5, reason);
  });

  test("an unknown access key, and a wrong secret", async () => {
    const prefix = randomUUID();
    const store = place(`s3://${bucket}/${prefix}`);
    const unknown = { ...env, AWS_ACCESS_KEY_ID: "UNKNOWN" };
    const wrong = { ...env, AWS_SECRET_ACCESS_KEY: "wrong" };
    await refused(store, unknown, 5, /does not know the access key; check AWS_ACCESS_KEY_ID$/m);
    await refused(store, wrong, 5, /the secret key is wrong; check AWS_SECRET_ACCESS_KEY$/m);
    expect(await keysIn(bucket, prefix)).toBe(0);
  });

  test("no credentials at all", () =>
    refused(
      place(`s3://${bucket}/p`),
      {},
      5,
      /no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/m,
    ));

  test("a bucket with read access only", async () => {
    const readable = `readable-${randomUUID()}`;
    const Policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: ["arn:aws:iam:::user/reader"] },
          Action: ["s3:GetObject", "s3:ListBucket"],
          Resource: [`arn:aws:s3:::${readable}`, `arn:aws:s3:::${readable}/*`],
        },
      ],
    });
    await client.send(new CreateBucketCommand({ Bucket: readable }));
    await client.send(new PutBucketPolicyCommand({ Bucket: readable, Policy }));
    const reader = {
      ...env,
      AWS_ACCESS_KEY_ID: env["CHIPBOARD_TEST_S3_READER_ACCESS_KEY_ID"] as string,
      AWS_SECRET_ACCESS_KEY: env["CHIPBOARD_TEST_S3_READER_SECRET_ACCESS_KEY"] as string,
    };
    const store = place(`s3://${readable}`);
    expect((await chipboard(["store", "init", ...store], env)).code).toBe(0);
    expectRefusal(
      await publish(store, reader),
      5,
      /cannot write "[^"]+": access denied; check the permissions of AWS_ACCESS_KEY_ID and the policy of the bucket$/m,
    );
    // Its mark.
    expect(await keysIn(readable, "")).toBe(1);
  });

  test("no such host", () =>
    refused(
      place(`s3://${bucket}/p`, "http://s3.nowhere.invalid"),
      env,
      5,
      /the name of "http:\/\/s3\.nowhere\.invalid" cannot be resolved \(\w+\); check --s3-endpoint$/m,
    ));

  test("a malformed location or endpoint", async () => {
    await refused(
      ["--store", "s3://b"],
      env,
      2,
      /--store "s3:\/\/b": expected s3:\/\/bucket\/prefix/,
    );
    const ended = await publish(["--store", "s3://bucket", "--s3-endpoint", "nowhere"], env);
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain("--s3-endpoint");
  });

  test("a server that ignores If-None-Match", async () => {
    const objects = new Map<string, Buffer>();
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = await bodyOf(request);
      const path = (request.url ?? "").replace(/\?.*/, "");
      if (request.method === "PUT") objects.set(path, body);
      if (request.method === "DELETE") objects.delete(path);
      const found = objects.get(path);
      const isList = request.url?.includes("list-type=2") === true;
      if (isList) response.end("<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>");
      else if (request.method !== "GET" || found) response.end(found);
      else response.writeHead(404).end("<Error><Code>NoSuchKey</Code></Error>");
    };
    const server = createServer((request, response) => void answer(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const store = place("s3://bucket/p", address);
    expect((await chipboard(["store", "init", ...store], env)).code).toBe(0);
    const ended = await publish(store, env);
    expectRefusal(ended, 5, /the server ignores If-None-Match on this bucket, so publishing is/);
    expect([...objects.keys()]).toEqual(["/bucket/p/store.json"]);
  });
});

describe.skipIf(redis === null)("--state redis://…", () => {
  const server = redis?.env["CHIPBOARD_TEST_REDIS_URL"] as string;
  const refused = async (state: string, code: number, reason: RegExp): Promise<void> => {
    const added = await chipboard(["accounts", "add", "acme", "--tier", "pro", "--state", state]);
    expectRefusal(added, code, reason);
  };

  test("a server that needs a password, and a wrong password", async () => {
    const locked = await RedisServer.start("--requirepass", "open-sesame");
    if (locked === null) throw new Error("The other tests' redis-server is gone");
    onTestFinished(() => locked.remove());
    const at = (auth: string): string => `redis://${auth}127.0.0.1:${locked.port}/0`;
    const hint = "; give both as redis:\\/\\/user:password@host:port .*$";
    await refused(at(""), 5, new RegExp(`\\(--state\\) cannot be used: NOAUTH.*${hint}`, "m"));
    await refused(
      at(":shibboleth@"),
      5,
      new RegExp(`^(?!.*shibboleth).*\\(--state\\) cannot be used: WRONGPASS.*${hint}`, "m"),
    );
  });

  test("another application's keys", async () => {
    const url = `${server}/11`;
    const client = new Redis(url);
    onTestFinished(async () => {
      await client.flushdb();
      client.disconnect();
    });
    await client.flushdb();
    await client.set("chipboard:theirs", "1");
    await refused(
      url,
      5,
      /\(--state\) cannot be used: its keys "chipboard:…" belong to another app/,
    );
    expect(await client.keys("*")).toEqual(["chipboard:theirs"]);
  });

  test("no server, an unknown host, and a malformed address", async () => {
    const nobody = "redis://127.0.0.1:1/0";
    const reason = /\(--state\) cannot be used: .*ECONNREFUSED/;
    await refused(nobody, 5, reason);
    expectRefusal(
      await chipboard([
        "serve",
        ...NO_PORT,
        "--store",
        join(folder, "snapshots"),
        "--state",
        nobody,
      ]),
      5,
      reason,
    );
    await refused(
      "redis://redis.nowhere.invalid",
      5,
      /\(--state\) cannot be used: .*(ENOTFOUND|EAI_)/,
    );
    await refused("redis://127.0.0.1/zero", 2, /--state "[^"]+": expected redis:\/\//);
  });
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
