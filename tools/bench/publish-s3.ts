/**
 * Measures how long publishing the demonstration market to an S3 server takes, and the requests that it
 * sends: five years of history into an empty prefix, then the next three sessions. Prints Markdown. The
 * server is the one of CHIPBOARD_TEST_S3_…, or a new gateway on 127.0.0.1.
 */
import { randomUUID } from "node:crypto";
import { createClock } from "../../src/lib/clock.ts";
import { readDemoContracts } from "../../src/demo/demo-catalog.ts";
import { publishDemo } from "../../src/demo/publish-demo.ts";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../../test/services/services.ts";
import { sent } from "./sent.ts";

const service = testService("s3");
if (service === null) throw new Error("There is no S3 server to publish to");
Object.assign(process.env, service.env);

const store = await openStore(`s3://${service.env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`, {
  endpoint: service.env["CHIPBOARD_TEST_S3_ENDPOINT"],
  pathStyle: true,
});
try {
  console.log(`Publishing ${readDemoContracts().length} contracts to S3\n`);
  console.log("| session | seconds | requests | puts | MB sent | MB received |");
  console.log("|---|---|---|---|---|---|");
  const clock = createClock("2026-11-21T12:05:00Z");
  let at = performance.now();
  let before = { ...sent };
  let session = "";
  const row = (): void => {
    const now = performance.now();
    const mb = (bytes: number): string => (bytes / 1e6).toFixed(1);
    const cells = [
      session,
      ((now - at) / 1_000).toFixed(2),
      sent.requests - before.requests,
      sent.puts - before.puts,
      mb(sent.bytes - before.bytes),
      mb(sent.received - before.received),
    ];
    console.log(`| ${cells.join(" | ")} |`);
    at = now;
    before = { ...sent };
  };
  const sessions = publishDemo(store, clock, (stage) => {
    const current = stage.split(" ")[0] as string;
    if (session !== "" && current !== session) row();
    session = current;
  });
  while ((await sessions.next()).done !== true);
  row();
} finally {
  await store.close();
  service.stop();
}
