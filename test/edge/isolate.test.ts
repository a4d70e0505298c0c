/** What the first requests of an isolate decide, and requests while bucket or registry do not answer. */
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { UNCOUNTED_ROUTES } from "../../src/public/uncounted-routes.ts";
import { createState, withDriver } from "../../src/state/open.ts";
import { startEdge, type RunningEdge } from "../../tools/edge/start-edge.ts";
import { publishedStore, TestClock } from "../http/fixture.ts";
import { copyInto } from "./edge-service.ts";

let edge: RunningEdge;
beforeAll(async () => {
  edge = await startEdge({
    worker: "test/edge/hanging-worker.ts",
    variables: { CHIPBOARD_NOW: new Date(new TestClock().ms).toISOString(), POLL_SECONDS: "0" },
  });
  await copyInto(await publishedStore(), edge.store);
});
afterAll(() => edge.close());

const statusOf = async (path: string): Promise<number> => (await fetch(edge.url + path)).status;

/** Asks by another name than the one that leads here. */
const statusAs = (host: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const asked = request(`${edge.url}/healthz`, { headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on("error", reject).end();
  });

test("without PUBLIC_URL no first request gives the service its address, except on this machine", async () => {
  for (const host of ["prices.example", "127.0.0.1.prices.example"])
    expect([host, await statusAs(host)]).toEqual([host, 500]);
});

test("while the bucket hangs, an isolate without a snapshot says that it has none", async () => {
  const paths = ["/healthz", DATA_ROUTES.board.path];
  expect(await Promise.all(paths.map(statusOf))).toEqual([200, 503]);
});

test("without a state, callers without a key are served, and no object learns of them", async () => {
  await fetch(`${edge.url}/go-on`);
  await expect.poll(() => statusOf(DATA_ROUTES.board.path), { timeout: 30_000 }).toBe(200);
  const robots = await fetch(`${edge.url}/robots.txt`);
  expect(await robots.text()).toContain(`Sitemap: ${edge.url}/sitemap.xml`);
  const counts = async () =>
    withDriver(edge.state, "fill", async (driver) => (await driver.readAll()).counts);
  expect(await counts()).toEqual([]);
  await createState(edge.state);
  await expect
    .poll(async () => {
      await statusOf(DATA_ROUTES.board.path);
      return (await counts()).length;
    })
    .toBe(1);
});

test("if the bucket hangs later, every request is answered from the snapshot that is known", async () => {
  await fetch(`${edge.url}/hang`);
  for (const path of [DATA_ROUTES.board.path, UNCOUNTED_ROUTES.status.path, "/healthz"])
    expect([path, await statusOf(path)]).toEqual([path, 200]);
});
