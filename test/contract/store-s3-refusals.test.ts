/** The errors of the S3 store if a real server refuses the bucket, the keys or the permissions. */
import { randomUUID } from "node:crypto";
import {
  CreateBucketCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test, vi } from "vitest";
import { testService } from "../services/services.ts";
import { at, expectFailures, useCredentials } from "./store-s3-failures.ts";
import { keysOf } from "./store.contract.ts";

const service = testService("s3");
const env = service?.env ?? {};
const endpoint = env["CHIPBOARD_TEST_S3_ENDPOINT"];
const bucket = env["CHIPBOARD_TEST_S3_BUCKET"];

afterAll(() => service?.stop());
useCredentials(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"]);

describe.skipIf(service === null)("a real server that refuses", () => {
  const location = `s3://${bucket}/${randomUUID()}`;

  test("no such bucket", async () => {
    const store = await at(`s3://no-such-${randomUUID()}/p`, { endpoint });
    await expectFailures(store, /: there is no such bucket; check --store$/);
  });

  test("an unknown access key", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "UNKNOWN");
    const store = await at(location, { endpoint });
    await expectFailures(
      store,
      /: the server does not know the access key; check AWS_ACCESS_KEY_ID$/,
    );
  });

  test("a wrong secret key", async () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "wrong");
    const store = await at(location, { endpoint });
    await expectFailures(store, /: the secret key is wrong; check AWS_SECRET_ACCESS_KEY$/);
  });

  test("a bucket without any permission", async () => {
    asReader();
    const store = await at(location, { endpoint });
    await expectFailures(store, /: access denied; check the permissions of AWS_ACCESS_KEY_ID/);
  });

  test("a bucket with read permission only", async () => {
    const readable = `readable-${randomUUID()}`;
    await asOwner(async (owner) => {
      await owner.send(new CreateBucketCommand({ Bucket: readable }));
      await owner.send(
        new PutBucketPolicyCommand({ Bucket: readable, Policy: readOnly(readable) }),
      );
    });
    const mine = await at(`s3://${readable}/p`, { endpoint });
    await mine.create("publications/1", Buffer.from("one"));
    asReader();
    const store = await at(`s3://${readable}/p`, { endpoint });
    expect((await store.get("publications/1"))?.toString()).toBe("one");
    expect(await keysOf(store, "")).toEqual(["publications/1"]);
    const denied =
      /: cannot (write|remove) "[^"]+": access denied; check the permissions of AWS_ACCESS_KEY_ID and the policy of the bucket$/;
    await expect(store.prove()).rejects.toThrow(denied);
    await expect(store.create("b", Buffer.from("b"))).rejects.toThrow(denied);
    await expect(store.delete("publications/1")).rejects.toThrow(denied);
    expect(await keysOf(mine, "")).toEqual(["publications/1"]);
  });

  test("prove refuses a bucket with versioning, because the server then ignores the condition", async () => {
    const versioned = `versioned-${randomUUID()}`;
    await asOwner(async (owner) => {
      await owner.send(new CreateBucketCommand({ Bucket: versioned }));
      const VersioningConfiguration = { Status: "Enabled" } as const;
      await owner.send(
        new PutBucketVersioningCommand({ Bucket: versioned, VersioningConfiguration }),
      );
    });
    const store = await at(`s3://${versioned}`, { endpoint });
    await expect(store.prove()).rejects.toThrow(/ignores If-None-Match on this bucket/);
    expect(await keysOf(store, "")).toEqual([]);
  });

  test("a running probe is not listed", async () => {
    const store = await at(location, { endpoint });
    const seen: string[] = [];
    const proving = store.prove();
    for (let times = 0; times < 20; times++) seen.push(...(await keysOf(store, "")));
    await proving;
    expect(seen).toEqual([]);
  });
});

function asReader(): void {
  vi.stubEnv("AWS_ACCESS_KEY_ID", env["CHIPBOARD_TEST_S3_READER_ACCESS_KEY_ID"]);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", env["CHIPBOARD_TEST_S3_READER_SECRET_ACCESS_KEY"]);
}

async function asOwner(action: (owner: S3Client) => Promise<void>): Promise<void> {
  const owner = new S3Client({
    endpoint: endpoint ?? "",
    region: "us-east-1",
    forcePathStyle: true,
  });
  await action(owner);
  owner.destroy();
}

const readOnly = (name: string): string =>
  JSON.stringify({
    Version: "2012-10-17",
    Statement: [
      {
        Effect: "Allow",
        Principal: { AWS: ["arn:aws:iam:::user/reader"] },
        Action: ["s3:GetObject", "s3:ListBucket"],
        Resource: [`arn:aws:s3:::${name}`, `arn:aws:s3:::${name}/*`],
      },
    ],
  });
