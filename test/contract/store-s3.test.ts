import { randomUUID } from "node:crypto";
import { ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test, vi } from "vitest";
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

  test("is reached through the proxy that the environment names, unless NO_PROXY names it", async () => {
    let proxied = 0;
    const proxy = createServer((from, answer) => {
      proxied += 1;
      const { method, headers, url = "" } = from;
      const to = request(url, { method, headers }, (answered) => {
        answer.writeHead(answered.statusCode ?? 0, answered.headers);
        answered.pipe(answer);
      });
      from.pipe(to);
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    vi.stubEnv("HTTP_PROXY", `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    try {
      for (const [noProxy, requests] of [
        ["", 2],
        ["127.0.0.1,localhost", 0],
      ] as const) {
        vi.stubEnv("NO_PROXY", noProxy);
        proxied = 0;
        const settings = { endpoint, pathStyle: true };
        const store = await openStore(`s3://${bucket}/${randomUUID()}`, settings);
        expect(await store.create("a", Buffer.from("b"))).toBe("created");
        expect(String(await store.get("a"))).toBe("b");
        expect(proxied).toBe(requests);
        await store.close();
      }
    } finally {
      vi.stubEnv("HTTP_PROXY", undefined);
      vi.stubEnv("NO_PROXY", undefined);
      proxy.close();
      proxy.closeAllConnections();
    }
  });
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
