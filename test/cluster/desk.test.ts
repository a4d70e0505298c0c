/** `snapshots ls|show|diff|verify|repair|rollback|prune|copy` on S3. */
import { expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { contentOf, mustPublish } from "../cli/small-market.ts";
import { deskJson, flip, NOW, RUNS, temporaryFolder } from "../desk/desk.ts";
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
  const settings = {
    endpoint: env["CHIPBOARD_TEST_S3_ENDPOINT"],
    region: "us-east-1",
    pathStyle: true,
  };
  const store = await openStore(location, settings);
  const copy = `${location}-copy`;
  const other = await openStore(copy, settings);
  try {
    for (const run of RUNS) await mustPublish(store, run);
    const at = (line: string, now = NOW) => deskJson(line, location, now, variables);
    expect((await at("ls")).publications).toHaveLength(6);
    expect((await at("show")).folder).toBe(`${location}/sessions/2026-11-21T12Z/r1/`);
    expect((await at("diff head~1 head")).repriced).toHaveLength(2);
    expect((await at("rollback 2026-11-20T00Z --reason back")).outcome).toBe("rolled_back");
    expect((await at("verify --all")).whole).toBe(true);
    expect((await at(`copy ${location} ${copy}`)).outcome).toBe("copied");
    const later = "2026-11-24T00:05:00Z";
    expect(await at("prune --keep-days 0", later)).toMatchObject({
      snapshots: [{ name: "2026-11-21T00Z/r1", orphan: false }],
      kept: 2,
    });
    expect(await at("verify --all")).toMatchObject({
      whole: true,
      pruned: ["2026-11-21T00Z/r1"],
    });
    await store.delete("sessions/2026-11-20T00Z/r1/report.html");
    expect((await at("verify")).error.exit_code).toBe(6);
    // The copy has the file, and what the prune took; then it has neither.
    const damaged = "sessions/2026-11-21T12Z/r1/pro/board.json";
    await flip(store, damaged);
    expect(await at(`repair --all --from ${copy}`)).toEqual({
      whole: true,
      from: copy,
      put_back: ["sessions/2026-11-20T00Z/r1/report.html", damaged],
    });
    expect((await at("verify --all")).whole).toBe(true);
    const refused = await at(`prune --keep-days 0 --store ${copy}`, later);
    expect(refused.error.message).toContain(`${copy} is a copy of ${location}`);
    const { removed } = await at(`copy ${location} ${copy} --mirror`);
    expect(removed).toBeGreaterThan(30);
    expect(await contentOf(other)).toEqual(await contentOf(store));
    // And a folder from there, and back.
    const folder = temporaryFolder();
    await at(`copy ${copy} ${folder}`);
    await flip(new FolderStore(folder), damaged);
    const back = await deskJson(`repair --all --from ${copy}`, folder, later, variables);
    expect(back.put_back).toEqual([damaged]);
    expect(await contentOf(new FolderStore(folder))).toEqual(await contentOf(store));
  } finally {
    for await (const { key } of other.list("")) await other.delete(key);
    await other.close();
    for await (const { key } of store.list("")) await store.delete(key);
    await store.close();
    process.env = previous;
    s3?.stop();
  }
});
