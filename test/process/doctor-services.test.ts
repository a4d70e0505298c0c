/** `doctor` with S3 and Redis: its findings there, no trace of its checks, and its findings while they are away. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateBucketCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { chipboard, serve } from "../program/program.ts";
import { RedisServer } from "../services/redis-server.ts";
import { testService } from "../services/services.ts";

const s3 = testService("s3");
const redis = testService("redis");
const endpoint = s3?.env["CHIPBOARD_TEST_S3_ENDPOINT"] ?? "";
const bucket = `doctor-${randomUUID()}`;
const store = `s3://${bucket}/prices`;
const S3 = ["--store", store, "--s3-endpoint", endpoint, "--s3-path-style"];
const PORTS = ["--port", "0", "--metrics-port", "off"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-doctor-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 11 }));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  s3?.stop();
  redis?.stop();
});

/** At the real time, which the server has as well. */
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  chipboard(args, { cwd: folder, env: { ...s3?.env, CHIPBOARD_NOW: "", ...env } });

async function doctor(args: readonly string[], env?: Record<string, string>) {
  const { code, stdout } = await run(["doctor", "--json", ...PORTS, ...args], env);
  const { checks } = JSON.parse(stdout) as {
    checks: readonly {
      check: string;
      result: string;
      text: string;
      remedy: string;
      exit_code: number;
    }[];
  };
  return { code, checks: Object.fromEntries(checks.map((each) => [each.check, each])) };
}

describe.skipIf(s3 === null)("a store in S3", () => {
  const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } =
    s3?.env ?? {};
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials,
  });
  afterAll(() => client.destroy());

  const user = {
    AWS_ACCESS_KEY_ID: s3?.env["CHIPBOARD_TEST_S3_READER_ACCESS_KEY_ID"] ?? "",
    AWS_SECRET_ACCESS_KEY: s3?.env["CHIPBOARD_TEST_S3_READER_SECRET_ACCESS_KEY"] ?? "",
  };

  /** The policy of docs/operate/s3-redis.md for this bucket and user; a proxy leaves out two actions. */
  function policy(isJob: boolean): string {
    const page = readFileSync(join(import.meta.dirname, "../../docs/operate/s3-redis.md"), "utf8");
    const json = /^```json\n(.*?)^```$/ms.exec(page)?.[1] ?? "";
    const named = json
      .replaceAll("prefix/*", "prices/*")
      .replaceAll(":::bucket", `:::${bucket}`)
      .replaceAll('"Effect"', '"Principal": { "AWS": ["arn:aws:iam:::user/reader"] }, "Effect"');
    return isJob ? named : named.replace(', "s3:PutObject", "s3:DeleteObject"', "");
  }

  /** Every name, hidden ones as well. */
  const keys = async (): Promise<string[]> => {
    const listed = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
    return (listed.Contents ?? []).map(({ Key = "" }) => Key);
  };

  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: policy(true) }));
    expect((await run(["store", "init", ...S3], user)).code).toBe(0);
    const args = ["publish", "--catalog", "c.csv", "--quotes", "q.csv", ...S3];
    const published = await run(args, user);
    expect(published.code).toBe(0);
    await run(["accounts", "add", "acme", "--tier", "pro"]);
  });

  test("is read and proven, its clock is compared, and nothing stays there", async () => {
    const before = await keys();
    const { code, checks } = await doctor(S3, user);
    expect([code, checks["condition"]?.result, checks["head"]?.result]).toEqual([0, "ok", "ok"]);
    expect(checks["clock"]?.text).toContain("within 5 minutes of s3://");
    expect(checks["space"]?.result).toBe("ok");
    expect(await keys()).toEqual(before);
  });

  test("the documented rights are enough for the job, and less of them for a proxy, whose doctor notes that", async () => {
    const job = await doctor(S3, user);
    expect([job.code, job.checks["condition"]?.result]).toEqual([0, "ok"]);
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: policy(false) }));
    const { code, checks } = await doctor(S3, user);
    expect([code, checks["condition"]?.result, checks["head"]?.result]).toEqual([0, "note", "ok"]);
    const proxy = await serve(S3, { cwd: folder, env: { ...s3?.env, ...user, CHIPBOARD_NOW: "" } });
    const { status } = await fetch(`${proxy.url}/api/public/v1/prices`);
    expect([status, await proxy.end()]).toEqual([200, 0]);
  });

  test("a user who may not list gets 403 for an absent entry, and doctor names credentials, not damage", async () => {
    const strict = policy(false).replace("StringLikeIfExists", "StringLike");
    await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: strict }));
    const { code, checks } = await doctor(S3, user);
    expect([code, checks["head"]?.result]).toEqual([5, "fault"]);
    expect(checks["head"]?.text).toContain("access denied");
    expect(checks["head"]?.remedy).toContain("credentials");
  });

  test("a store that is away is 5, and the rest is still told", async () => {
    const { code, checks } = await doctor([
      ...S3.slice(0, 2),
      "--s3-endpoint",
      "http://127.0.0.1:1",
    ]);
    expect([code, checks["store"]?.result, checks["head"]?.result]).toEqual([
      5,
      "fault",
      "unknown",
    ]);
    expect(checks["state"]?.result).toBe("ok");
  });
});

describe.skipIf(redis === null)("a state in Redis", () => {
  test("has its mark; a policy that drops keys is the fault with which serve does not start", async () => {
    const server = (await RedisServer.start("--maxmemory-policy", "allkeys-lru")) as RedisServer;
    const state = ["--state", `redis://127.0.0.1:${server.port}/0`];
    const client = new Redis(server.port);
    const unmarked = await doctor(state);
    expect([unmarked.checks["state"]?.exit_code, await client.keys("*")]).toEqual([5, []]);

    await run(["state", "init", ...state]);
    const before = await client.keys("*");
    const evicting = await doctor(state);
    const served = await run(["serve", ...PORTS, ...state]);
    expect([evicting.checks["policy"]?.exit_code, served.code]).toEqual([5, 5]);
    expect(served.stderr).toContain(evicting.checks["policy"]?.text);
    await client.config("SET", "maxmemory-policy", "noeviction");
    const well = await doctor(state);
    expect(well.checks["policy"]?.result).toBe("ok");
    expect(await client.keys("*")).toEqual(before);
    client.disconnect();
    await server.remove();
  });
});
