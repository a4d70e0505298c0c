/** The closes of index series and the levels last used, calculated day by day from the words of the contract. */

/** A contract, as far as series need it. Days are counted from 1970. */
export interface SeriesContract {
  readonly id: string;
  /** The id of its segment's index. */
  readonly index: string;
  /** It is off the boards from this day on; null: never. */
  readonly delistedDay: number | null;
  /** A level older than this is not in force. */
  readonly limitDays: number;
  /** Ascending by session. */
  readonly levels: readonly SeriesLevel[];
}

export interface SeriesLevel {
  /** Half days since 1970. */
  readonly session: number;
  readonly usd: string;
  readonly isBreak: boolean;
}

/** The level of a contract that a step used last. */
export interface Use {
  readonly session: number;
  readonly usd: string;
}

/** An index after its last step. It has a close for each day from the base on, in units of 0.0001. */
export interface SeriesState {
  readonly base: number;
  readonly closes: readonly bigint[];
  /** By the id of the contract. */
  readonly used: ReadonlyMap<string, Use>;
}

/** The states of all indices that a snapshot keeps, by id. An index without a close has none. */
export type SeriesStates = ReadonlyMap<string, SeriesState>;

/** The session at 12:00 of a day. */
const noonOf = (day: number): number => 2 * day + 1;

/** The last day whose 12:00 session is not after this session. */
export const lastDayOf = (session: number): number => Math.floor((session - 1) / 2);

/** The contract's level in force at 12:00 of a day; null: it has none. */
function inForce(contract: SeriesContract, day: number): Use | null {
  const { delistedDay, levels, limitDays } = contract;
  if (delistedDay !== null && day >= delistedDay) return null;
  const level = levels.findLast(({ session }) => session <= noonOf(day));
  return level !== undefined && noonOf(day) - level.session <= 2 * limitDays ? level : null;
}

/** The first day up to `last` on which one of the contracts is in force at 12:00. */
function firstDay(contracts: readonly SeriesContract[], last: number): number | null {
  const sessions = contracts.flatMap(({ levels }) => levels.map(({ session }) => session));
  if (sessions.length === 0) return null;
  for (let day = lastDayOf(Math.min(...sessions)); day <= last; day += 1) {
    if (contracts.some((contract) => inForce(contract, day) !== null)) return day;
  }
  return null;
}

/**
 * An index with its closes up to a day. `published` gives the close of a day that was published; the next day
 * is stepped from it. Without one the calculated close stands.
 */
export function stepped(
  state: SeriesState | undefined,
  contracts: readonly SeriesContract[],
  last: number,
  published: (day: number, calculated: bigint) => bigint = (_day, calculated) => calculated,
): SeriesState | undefined {
  const base = state?.base ?? firstDay(contracts, last);
  if (base === null) return undefined;
  const closes = [...(state?.closes ?? [])];
  // A contract whose levels are all withdrawn is as one that never had any.
  const priced = contracts.filter(({ levels }) => levels.length > 0);
  const byId = new Map(priced.map((contract) => [contract.id, contract]));
  const used = new Map([...(state?.used ?? [])].filter(([id]) => byId.has(id)));
  for (let day = base + closes.length; day <= last; day += 1) {
    const relatives: [now: bigint, then: bigint][] = [];
    for (const [id, contract] of byId) {
      const then = used.get(id);
      const { delistedDay, levels } = contract;
      const isBroken = ({ session, isBreak }: SeriesLevel): boolean =>
        isBreak && then !== undefined && session > then.session && session <= noonOf(day);
      const isDelisted = delistedDay !== null && day >= delistedDay;
      const isDropped = isDelisted || levels.some(isBroken);
      if (isDropped) used.delete(id);
      const now = inForce(contract, day);
      if (now === null) continue;
      if (then !== undefined && !isDropped) relatives.push([microsOf(now.usd), microsOf(then.usd)]);
      used.set(id, { session: now.session, usd: now.usd });
    }
    const before = closes.at(-1);
    closes.push(published(day, before === undefined ? 1_000_000n : closeAfter(before, relatives)));
  }
  return { base, closes, used };
}

/** The states with the uses of renamed contracts under their new ids. */
export const withNewNames = (
  states: SeriesStates,
  renamed: ReadonlyMap<string, string>,
): SeriesStates =>
  new Map(
    [...states].map(([index, state]) => {
      const used = [...state.used].map(([id, use]): [string, Use] => [renamed.get(id) ?? id, use]);
      return [index, { ...state, used: new Map(used) }];
    }),
  );

/** The close before × the geometric mean of the relatives, rounded half up; without relatives unchanged. */
function closeAfter(before: bigint, relatives: readonly [now: bigint, then: bigint][]): bigint {
  const moved = relatives.filter(([now, then]) => now !== then);
  if (moved.length === 0) return before;
  const power = BigInt(relatives.length);
  const over = moved.reduce((product, [now]) => product * now, (2n * before) ** power);
  const under = moved.reduce((product, [, then]) => product * then, 1n);
  // The close is the largest whole number c for which 2c − 1 is not above the exact double of it.
  const isAtMost = (close: bigint): boolean => (2n * close - 1n) ** power * under <= over;
  let [low, high] = [0n, 1n];
  while (isAtMost(high)) [low, high] = [high, high * 2n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (isAtMost(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function microsOf(usd: string): bigint {
  const [whole = "", decimals = ""] = usd.split(".");
  return BigInt(whole + decimals.padEnd(6, "0"));
}
