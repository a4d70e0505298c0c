import { randomUUID } from "node:crypto";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, vi } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../services/services.ts";
import { describeStore } from "./store.contract.ts";

const service = testService("s3");
for (const [name, value] of Object.entries(service?.env ?? {})) vi.stubEnv(name, value);
const endpoint = service?.env["CHIPBOARD_TEST_S3_ENDPOINT"];
const bucket = service?.env["CHIPBOARD_TEST_S3_BUCKET"];

afterAll(() => service?.stop());

describe.skipIf(service === null)("against a real S3 server", () => {
  for (const prefix of ["", "deep/er"]) {
    describeStore(`the S3 store, prefix "${prefix}"`, async () => {
      const location = `s3://${bucket}/${randomUUID()}/${prefix}`;
      const settings = { endpoint, pathStyle: true };
      const [store, other] = await Promise.all([
        openStore(location, settings),
        openStore(location, settings),
      ]);
      return {
        store,
        other,
        rawNames: () => namesBelow(location),
        dispose: async () => {
          await Promise.all([store.close(), other.close()]);
        },
      };
    });
  }
});

async function namesBelow(location: string): Promise<string[]> {
  const prefix = location.replace(`s3://${bucket}/`, "");
  const client = new S3Client({ endpoint: endpoint ?? "", forcePathStyle: true });
  try {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket ?? "", Prefix: prefix }),
    );
    return (page.Contents ?? []).map(({ Key = "" }) => Key);
  } finally {
    client.destroy();
  }
}
