/** Rows held in few numbers must be the rows that were read, in the order of their sessions. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { GivenLevelsBuilder } from "../../src/feed/given-levels-builder.ts";
import { NO_EXTRAS, type Origin } from "../../src/feed/given-levels.ts";
import { SessionTemplate } from "../../src/feed/session-column.ts";

const ORIGINS: readonly Origin[] = ["closes", "quotes"].map((name) => ({
  kind: name as Origin["kind"],
  where: (position) => `${name}:${position}`,
}));

interface Row {
  readonly contract: number;
  readonly session: number;
  readonly usd: number;
  readonly origin: number;
  /** From the row before of the same file. */
  readonly distance: number;
  readonly isNoted: boolean;
}

/** Mostly even and ascending, as inputs are; now and then not. */
const rows = fc.array(
  fc.record<Row>({
    contract: fc.integer({ min: 0, max: 2 }),
    session: fc.integer({ min: 0, max: 40 }),
    usd: fc.integer({ min: 0, max: 5 }),
    origin: fc.constantFrom(0, 0, 0, 1),
    distance: fc.constantFrom(1, 1, 1, 3),
    isNoted: fc.constantFrom(false, false, true),
  }),
  { maxLength: 200 },
);

test.prop([rows, fc.boolean()])("rows of several contracts", (given, isAscending) => {
  const template = new SessionTemplate();
  const builders = [0, 1, 2].map(() => new GivenLevelsBuilder(template));
  const naive: (Row & { position: number; at: number })[][] = [[], [], []];
  const positions = [0, 0];
  for (const row of given) {
    const of = naive[row.contract] as (typeof naive)[number];
    const at = isAscending ? of.length : row.session;
    const position = (positions[row.origin] as number) + row.distance;
    positions[row.origin] = position;
    const extras = row.isNoted ? { source: String(position) } : NO_EXTRAS;
    const origin = ORIGINS[row.origin] as Origin;
    const usd = row.usd === 0 ? null : row.usd;
    (builders[row.contract] as GivenLevelsBuilder).push(at, usd, extras, origin, position);
    of.push({ ...row, at, position });
  }
  for (const [contract, builder] of builders.entries()) {
    const levels = builder.build();
    const wanted = (naive[contract] as (typeof naive)[number]).toSorted((a, b) => a.at - b.at);
    const found = Array.from({ length: levels.length }, (_, place) => {
      const { session, usd, extras } = levels.at(place);
      return [session, usd, extras.source, levels.where(place)];
    });
    expect(found).toEqual(
      wanted.map(({ at, usd, origin, position, isNoted }) => [
        at,
        usd === 0 ? null : usd,
        isNoted ? String(position) : undefined,
        (ORIGINS[origin] as Origin).where(position),
      ]),
    );
    const ofQuotes = levels.placesOf("quotes").reduce((sum, { from, to }) => sum + to - from, 0);
    expect(ofQuotes).toBe(wanted.filter(({ origin }) => origin === 1).length);
  }
});
