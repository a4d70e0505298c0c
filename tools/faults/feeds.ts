/**
 * Hostile feeds: catalogs, quotes and closes with any content. Each is published correctly, or it is
 * refused with line and column and nothing is written.
 */
import { publish } from "../../test/store/begun.ts";
import type { Format } from "../../src/feed/source.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";
import { fetchAnswers } from "./feed-answers.ts";
import { encodedFeed, hugeJsonFeed, longCellFeed } from "./feed-bytes.ts";
import { formulaFeed, mutatedFeed, unicodeFeed, type Feed } from "./feed-mutations.ts";
import { publishWithProgram } from "./feed-program.ts";
import { FeedRandom } from "./feed-random.ts";
import { FeedTrials, type Publish } from "./feed-trial.ts";

interface Kind {
  readonly fault: string;
  readonly count: Readonly<Record<FaultOptions["scale"], number>>;
  readonly feed: (random: FeedRandom) => Feed;
  /** One in so many of the snapshots is verified in every format; default 20. */
  readonly verifiedOneIn?: number;
}

const FORMATS: readonly Format[] = ["csv", "json", "ndjson"];

const KINDS: readonly Kind[] = [
  {
    fault: "mutated CSV",
    count: { short: 80, full: 8_000 },
    feed: (random) => mutatedFeed("csv", random),
  },
  {
    fault: "mutated JSON",
    count: { short: 50, full: 5_000 },
    feed: (random) => mutatedFeed("json", random),
  },
  {
    fault: "mutated NDJSON",
    count: { short: 50, full: 5_000 },
    feed: (random) => mutatedFeed("ndjson", random),
  },
  {
    fault: "other encodings",
    count: { short: 15, full: 600 },
    feed: (random) => encodedFeed(random.pick(FORMATS), random),
  },
  {
    fault: "formula injection",
    count: { short: 15, full: 600 },
    feed: (random) => formulaFeed(random.pick(FORMATS), random),
    verifiedOneIn: 4,
  },
  {
    fault: "Unicode tricks in names",
    count: { short: 15, full: 600 },
    feed: (random) => unicodeFeed(random.pick(FORMATS), random),
    verifiedOneIn: 4,
  },
  {
    fault: "huge and deep JSON",
    count: { short: 8, full: 180 },
    feed: (random) => hugeJsonFeed(random.oneIn(4) ? "ndjson" : "json", random),
  },
  {
    fault: "10 MB cells",
    count: { short: 2, full: 20 },
    feed: (random) => longCellFeed(random.pick(FORMATS), random),
  },
];

const PROGRAMS = { short: 2, full: 40 } as const;
const ANSWERS = { short: 40, full: 2_000 } as const;

/** About 200 feeds, or 20,000; then some more of them with the program, and some over HTTP. */
export const feedFaults = async (options: FaultOptions): Promise<FaultRow[]> => [
  ...(await publishFeeds(options, publish)),
  await publishWithProgram(options, PROGRAMS[options.scale], (random) =>
    random.pick(KINDS).feed(random),
  ),
  await fetchAnswers(options, ANSWERS[options.scale]),
];

/** Publishes the fraction `part` of the feeds with `publisher`. */
export async function publishFeeds(
  options: FaultOptions,
  publisher: Publish,
  part = 1,
): Promise<FaultRow[]> {
  const { scale, seed, say } = options;
  const rows: FaultRow[] = [];
  for (const { fault, count, feed, verifiedOneIn = 20 } of KINDS) {
    const random = new FeedRandom(seed, fault);
    const trials = await FeedTrials.begin(publisher, random, verifiedOneIn);
    const tally = new Tally(fault, say);
    let published = 0;
    const times = Math.ceil(count[scale] * part);
    for (let number = 0; number < times; number += 1) {
      const made = feed(random);
      const what = `seed ${seed}, number ${number}, ${made.kind}.${made.format}: ${made.story}`;
      await tally.inject(what, async () => {
        if ((await trials.publish(made)) === "published") published += 1;
      });
    }
    rows.push(tally.row);
    say(`${fault}: ${tally.row.injected} injected, ${published} published, ${tally.row.lost} lost`);
  }
  return rows;
}
