/** Hostile feeds in their short form; and a broken promise is counted as a loss. */
import { expect, test } from "vitest";
import type { InputSource } from "../../src/feed/source.ts";
import { parseSession } from "../../src/market/session.ts";
import { publish } from "../store/begun.ts";
import { expectNothingLost } from "./short.ts";
import { FEED_SESSION } from "../../tools/faults/feed-table.ts";
import type { Publish } from "../../tools/faults/feed-trial.ts";
import { feedFaults, publishFeeds } from "../../tools/faults/feeds.ts";

test("nothing is lost to feeds of every kind, some of them published with the program", () =>
  expectNothingLost(feedFaults));

/** Publishers that break one promise each. */
const BROKEN: Record<string, Publish> = {
  "a defect in place of a refusal": async (...args) => {
    try {
      return await publish(...args);
    } catch (error) {
      throw new TypeError("Cannot read properties of undefined", { cause: error });
    }
  },
  "a stray object after a refusal": async (request, store, ...rest) => {
    try {
      return await publish(request, store, ...rest);
    } catch (error) {
      await store.create("sessions/stray", Buffer.of(1));
      throw error;
    }
  },
  "another level than was given": (request, ...rest) =>
    publish({ ...request, quotes: request.quotes.map(misread) }, ...rest),
  "a refusal without a place": async (...args) => {
    try {
      return await publish(...args);
    } catch (error) {
      if (error instanceof Error && "details" in error) error.details = ["something is wrong"];
      throw error;
    }
  },
};

test.for(Object.entries(BROKEN))("counted as lost: %s", async ([, broken]) => {
  const session = parseSession(FEED_SESSION);
  const publisher: Publish = (request, ...rest) =>
    (request.session === session ? broken : publish)(request, ...rest);
  const told: string[] = [];
  const options = {
    scale: "short",
    folder: "",
    seed: 7,
    say: (text: string) => told.push(text),
  } as const;
  const rows = await publishFeeds(options, publisher, 1 / 5);
  expect(rows.reduce((sum, { lost }) => sum + lost, 0)).toBeGreaterThan(0);
  expect(told.filter((text) => text.startsWith("LOST: mutated CSV: seed 7, number "))).not.toEqual(
    [],
  );
});

function misread(source: InputSource): InputSource {
  return {
    ...source,
    async *open() {
      for await (const bytes of source.open()) {
        yield Buffer.from(
          Buffer.from(bytes).toString("latin1").replace("11.25", "11.52"),
          "latin1",
        );
      }
    },
  };
}
