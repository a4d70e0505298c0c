/**
 * Publishers, rollbacks and prunes at once. The log has no gap; nobody removes what the head or the
 * publication before it needs; each run that reports a publication has made it; and a run that is
 * refused changes nothing. No number is signed with two contents, and no proxy accepts an entry that is
 * not signed.
 */
import { join } from "node:path";
import { seedOf } from "../../src/demo/random.ts";
import { folderPlace, withS3, type Place } from "./crash-places.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";
import { crowdOfPublishers, fillPast, mixedCrowd } from "./race-crowds.ts";

const COUNTS = {
  short: { folder: 4, S3: 2, crowds: 1 },
  full: { folder: 100, S3: 30, crowds: 5 },
} as const;
const PUBLISHERS = 20;

/** In a folder; test/world has the orders of operations in memory. */
export const localRaces: Faults = async (options) => {
  const counts = COUNTS[options.scale];
  const folder = folderPlace(join(options.folder, "races"));
  return [
    await raceMixed(folder, counts.folder, options),
    await racePublishers(folder, counts.crowds, options),
  ];
};

export const s3Races: Faults = (options) =>
  withS3(options.say, async (s3) => [await raceMixed(s3, COUNTS[options.scale].S3, options)]);

export const raceFaults: Faults = async (options) => [
  ...(await localRaces(options)),
  ...(await s3Races(options)),
];

async function raceMixed(
  place: Place,
  races: number,
  { seed, say }: FaultOptions,
): Promise<FaultRow> {
  const tally = new Tally(`publish, rollback and prune at once, ${place.name}`, say);
  const template = await place.empty();
  await fillPast(template);
  say(`${tally.row.fault}: ${races}`);
  for (let race = 0; race < races; race += 1) {
    const own = seedOf(`${seed} ${place.name} ${race}`);
    const store = await place.copy(template);
    await tally.inject(`seed ${own}`, () => mixedCrowd(place, store, own));
    await place.remove(store);
  }
  await place.remove(template);
  return tally.row;
}

async function racePublishers(
  place: Place,
  races: number,
  { seed, say }: FaultOptions,
): Promise<FaultRow> {
  const tally = new Tally(`${PUBLISHERS} publishers at once, ${place.name}`, say);
  say(`${tally.row.fault}: ${races}`);
  for (let race = 0; race < races; race += 1) {
    const own = seedOf(`${seed} crowd ${race}`);
    const store = await place.empty();
    await tally.inject(`seed ${own}`, () => crowdOfPublishers(place, store, PUBLISHERS, own));
    await place.remove(store);
  }
  return tally.row;
}
