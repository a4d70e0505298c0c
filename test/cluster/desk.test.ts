/** `snapshots ls|show|diff|verify|rollback|prune` on S3. */
import { expect, test } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { mustPublish } from "../cli/market.ts";
import { deskJson, NOW, RUNS } from "../desk/desk.ts";
import { testService } from "../services/services.ts";

const s3 = testService("s3");

test.runIf(s3 !== null)("the commands work on S3 as in a folder", async () => {
  const { env } = s3 as NonNullable<typeof s3>;
  const prefix = `desk-${process.pid}-${performance.now().toString(36).replace(".", "")}`;
  const location = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${prefix}`;
  const variables = {
    ...env,
    CHIPBOARD_S3_ENDPOINT: env["CHIPBOARD_TEST_S3_ENDPOINT"] ?? "",
    CHIPBOARD_S3_REGION: "us-east-1",
    CHIPBOARD_S3_PATH_STYLE: "true",
  };
  const previous = { ...process.env };
  Object.assign(process.env, env);
  const store = await openStore(location, {
    endpoint: env["CHIPBOARD_TEST_S3_ENDPOINT"],
    region: "us-east-1",
    pathStyle: true,
  });
  try {
    for (const run of RUNS) await mustPublish(store, run);
    const at = (line: string, now = NOW) => deskJson(line, location, now, variables);
    expect((await at("ls")).publications).toHaveLength(6);
    expect((await at("show")).folder).toBe(`${location}/sessions/2026-11-21T12Z/r1/`);
    expect((await at("diff head~1 head")).repriced).toHaveLength(2);
    expect((await at("rollback 2026-11-20T00Z --reason back")).outcome).toBe("rolled_back");
    expect((await at("verify --all")).whole).toBe(true);
    const later = "2099-01-01T00:00:00Z";
    expect(await at("prune --keep-days 0", later)).toMatchObject({
      snapshots: [{ name: "2026-11-21T00Z/r1", orphan: false }],
      kept: 2,
    });
    expect(await at("verify --all")).toMatchObject({ whole: true, pruned: ["2026-11-21T00Z/r1"] });
    await store.delete("sessions/2026-11-20T00Z/r1/report.html");
    expect((await at("verify")).error.exit_code).toBe(6);
  } finally {
    for await (const { key } of store.list("")) await store.delete(key);
    await store.close();
    process.env = previous;
    s3?.stop();
  }
});
