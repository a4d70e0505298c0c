/** The transcripts by Node's host, over a socket. test/core runs them without one. */
import { expect, test } from "vitest";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import { startTestProxy } from "./fixture.ts";
import { runTranscripts, transcriptOf } from "./transcript-runs.ts";

runTranscripts(startTestProxy);

test("tiers.http has every route with data", () => {
  const asked = transcriptOf("tiers.http").flatMap(({ rows }) =>
    rows.map((row) => API + (row.get("path") ?? "").replace(/\?.*/, "")),
  );
  const missing = Object.values(DATA_ROUTES).filter(({ path }) => {
    const address = new RegExp(`^${path.replace("{id}", "[^/]+")}$`);
    return !asked.some((each) => address.test(each));
  });
  expect(missing.map(({ path }) => path)).toEqual([]);
});
