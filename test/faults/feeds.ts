/**
 * Hostile feeds: catalogs, quotes and closes with anything in them. Each is published right, or
 * refused with the line and the column, and nothing is written; never anything between.
 */
import { publish } from "../../src/publish/publish.ts";
import type { Format } from "../../src/feed/source.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";
import { fetchAnswers } from "./feed-answers.ts";
import { encodedFeed, hugeJsonFeed, longCellFeed } from "./feed-bytes.ts";
import { formulaFeed, mutatedFeed, unicodeFeed, type Feed } from "./feed-mutations.ts";
import { throwAtProgram } from "./feed-program.ts";
import { FeedRandom } from "./feed-random.ts";
import { FeedTrials, type Publish } from "./feed-trial.ts";

interface Kind {
  readonly fault: string;
  readonly count: Readonly<Record<FaultOptions["scale"], number>>;
  readonly feed: (random: FeedRandom) => Feed;
  /** Of the snapshots that come of it, one in so many is read in every format; 20 without. */
  readonly verifiedOneIn?: number;
}

const FORMATS: readonly Format[] = ["csv", "json", "ndjson"];

const KINDS: readonly Kind[] = [
  {
    fault: "mutated CSV",
    count: { short: 250, full: 8_000 },
    feed: (random) => mutatedFeed("csv", random),
  },
  {
    fault: "mutated JSON",
    count: { short: 150, full: 5_000 },
    feed: (random) => mutatedFeed("json", random),
  },
  {
    fault: "mutated NDJSON",
    count: { short: 150, full: 5_000 },
    feed: (random) => mutatedFeed("ndjson", random),
  },
  {
    fault: "other encodings",
    count: { short: 40, full: 600 },
    feed: (random) => encodedFeed(random.pick(FORMATS), random),
  },
  {
    fault: "formula injection",
    count: { short: 40, full: 600 },
    feed: (random) => formulaFeed(random.pick(FORMATS), random),
    verifiedOneIn: 4,
  },
  {
    fault: "Unicode tricks in names",
    count: { short: 40, full: 600 },
    feed: (random) => unicodeFeed(random.pick(FORMATS), random),
    verifiedOneIn: 4,
  },
  {
    fault: "huge and deep JSON",
    count: { short: 25, full: 180 },
    feed: (random) => hugeJsonFeed(random.oneIn(4) ? "ndjson" : "json", random),
  },
  {
    fault: "10 MB cells",
    count: { short: 2, full: 20 },
    feed: (random) => longCellFeed(random.pick(FORMATS), random),
  },
];

const PROGRAMS = { short: 2, full: 40 } as const;
const ANSWERS = { short: 100, full: 2_000 } as const;

/** About 700 feeds, or 20,000; some of each kind through the program in a process; and answers. */
export const feedFaults = async (options: FaultOptions): Promise<FaultRow[]> => [
  ...(await throwFeeds(options, publish)),
  await throwAtProgram(options, PROGRAMS[options.scale], (random) =>
    random.pick(KINDS).feed(random),
  ),
  await fetchAnswers(options, ANSWERS[options.scale]),
];

/** The same without the program, or a part of it; `publisher` is what the feeds are thrown at. */
export async function throwFeeds(
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
      const thrown = feed(random);
      const { kind, format, story } = thrown;
      await tally.throw(`seed ${seed}, number ${number}, ${kind}.${format}: ${story}`, async () => {
        if ((await trials.throw(thrown)) === "published") published += 1;
      });
    }
    rows.push(tally.row);
    say(`${fault}: ${tally.row.thrown} thrown, ${published} published, ${tally.row.lost} lost`);
  }
  return rows;
}
