/**
 * Index series by members, from the words of the contract and without any shortcut: who is a member on which day,
 * what the series is worth as known now, and what a publication does with members and closes.
 */

/** A level of a contract. Sessions are counted in half days since 1970, days in days. */
export interface SeriesLevel {
  readonly session: number;
  readonly usd: string;
  readonly isBreak: boolean;
}

/** Every level that stands now, by contract, ascending by session; also of contracts that left the catalog. */
export type Ledger = ReadonlyMap<string, readonly SeriesLevel[]>;

/** A contract of the catalog, as far as series need it. */
export interface SeriesContract {
  readonly id: string;
  /** The id of its segment's index. */
  readonly index: string;
  /** It is off the boards from this day on; null: never. */
  readonly delistedDay: number | null;
  /** A level older than this is not in force. */
  readonly limitDays: number;
}

/** The members of a day, with the carry limit in days that put each there. */
export type Members = ReadonlyMap<string, number>;

export interface Close {
  /** As published, a decimal with at most four places. */
  readonly text: string;
  /** The newest entry that calculated it; null up to a link. */
  readonly knownFrom: number | null;
  /** The session whose publication first published it; null: an older program did. */
  readonly firstSession: number | null;
  /** The value of the day, and of the day before (null: none), as that entry knew them. */
  readonly value: number;
  readonly valueBefore: number | null;
}

/** Where an older program's series ends. Its published close is the value of the day. */
export interface Link {
  readonly day: number;
  readonly publication: number;
  /** The levels that were used for its members. */
  readonly levels: ReadonlyMap<string, SeriesLevel>;
}

export interface Restatement {
  readonly publication: number;
  readonly reason: string;
  /** Its first day, and whether it chose members; null: an older program's. */
  readonly how: { readonly from: number; readonly members: boolean } | null;
}

export interface IndexSeries {
  /** By day, without gaps. */
  readonly closes: ReadonlyMap<number, Close>;
  /** By day, from the link or else the base on. */
  readonly members: ReadonlyMap<number, Members>;
  readonly link: Link | null;
  readonly restatements: readonly Restatement[];
}

/** The series of all indices that a snapshot keeps, by id; also of indices that are not listed at the moment. */
export type SeriesByIndex = ReadonlyMap<string, IndexSeries>;

/** A run that publishes. */
export interface SeriesRun {
  /** Its entry of the log. */
  readonly number: number;
  readonly session: number;
  /** In the order of the boards. */
  readonly contracts: readonly SeriesContract[];
  readonly ledger: Ledger;
  /** Whether it calculates closes of its session; a rendering anew, and a restatement alone, do not. */
  readonly calculates: boolean;
  readonly restates: Restating | null;
}

export interface Restating {
  readonly reason: string;
  /** The first day; null: the base, or the day after a link. */
  readonly from: number | null;
  readonly members: boolean;
}

/** The text of a close that a run calculated: half up, where doubles cannot tell the half. */
export type WriteClose = (index: string, day: number, value: number) => string;

const NEW: IndexSeries = { closes: new Map(), members: new Map(), link: null, restatements: [] };

const noonOf = (day: number): number => 2 * day + 1;

/** The last day whose 12:00 session is not after this session. */
export const lastDayOf = (session: number): number => Math.floor((session - 1) / 2);

/** The latest level at or before the noon of a day. */
function levelOn(ledger: Ledger, id: string, day: number): SeriesLevel | undefined {
  const levels = ledger.get(id) ?? [];
  // The number of levels by then, by halves: simulations ask for years of days.
  let [low, high] = [0, levels.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((levels[middle] as SeriesLevel).session <= noonOf(day)) low = middle + 1;
    else high = middle;
  }
  return levels[low - 1];
}

const isWithin = (level: SeriesLevel | undefined, day: number, limitDays: number): boolean =>
  level !== undefined && noonOf(day) - level.session <= 2 * limitDays;

/** The contracts that are in force at the noon of a day. */
export const membersOn = (
  contracts: readonly SeriesContract[],
  ledger: Ledger,
  day: number,
): Members =>
  new Map(
    contracts
      .filter(({ delistedDay }) => delistedDay === null || day < delistedDay)
      .filter(({ id, limitDays }) => isWithin(levelOn(ledger, id, day), day, limitDays))
      .map(({ id, limitDays }) => [id, limitDays]),
  );

/** The first day from `from` up to `last` that has a member. */
function firstDay(
  contracts: readonly SeriesContract[],
  ledger: Ledger,
  from: number,
  last: number,
): number | null {
  const sessions = contracts.flatMap(({ id }) => ledger.get(id)?.[0]?.session ?? []);
  for (let day = Math.max(from, lastDayOf(Math.min(...sessions))); day <= last; day += 1) {
    if (membersOn(contracts, ledger, day).size > 0) return day;
  }
  return null;
}

/** A series as known now. */
export interface Measured {
  readonly values: ReadonlyMap<number, number>;
  readonly factors: ReadonlyMap<number, number>;
  /** The contracts that are there on each day, with their levels. */
  readonly there: ReadonlyMap<number, ReadonlyMap<string, SeriesLevel>>;
}

export const firstOf = (days: ReadonlyMap<number, unknown>): number => Math.min(...days.keys());
export const lastOf = (days: ReadonlyMap<number, unknown>): number => Math.max(...days.keys());

/** The value of each day from the link, or else the base, on. */
export function measured(
  { closes, members, link }: Pick<IndexSeries, "members" | "link" | "closes">,
  ledger: Ledger,
): Measured {
  const values = new Map<number, number>();
  const factors = new Map<number, number>();
  const there = new Map<number, ReadonlyMap<string, SeriesLevel>>();
  const breaks = new Map(
    [...ledger].map(([id, levels]) => [
      id,
      levels.filter(({ isBreak }) => isBreak).map(({ session }) => session),
    ]),
  );
  for (const day of [...members.keys()].toSorted((a, b) => a - b)) {
    const present = new Map<string, SeriesLevel>();
    for (const [id, limitDays] of members.get(day) as Members) {
      const level = link?.day === day ? link.levels.get(id) : levelOn(ledger, id, day);
      const isThere = link?.day === day || isWithin(level, day, limitDays);
      if (level !== undefined && isThere) present.set(id, level);
    }
    there.set(day, present);
    const before = values.get(day - 1);
    if (before === undefined) {
      values.set(day, link === null ? 100 : Number(closes.get(day)?.text));
      continue;
    }
    const relatives: number[] = [];
    for (const [id, level] of present) {
      let anchor = day - 1;
      while (there.has(anchor) && there.get(anchor)?.has(id) === false) anchor -= 1;
      const then = there.get(anchor)?.get(id);
      if (then === undefined) continue;
      const known = breaks.get(id) ?? [];
      const isAfter = known.some((session) => session > then.session && session <= level.session);
      const isAt = known.includes(then.session);
      if (isAfter || (anchor === link?.day && isAt !== then.isBreak)) continue;
      let relative = Number(level.usd) / Number(then.usd);
      for (let away = anchor + 1; away < day; away += 1) relative /= factors.get(away) as number;
      relatives.push(relative);
    }
    const logs = relatives.map(Math.log).reduce((sum, log) => sum + log, 0);
    const factor = relatives.length === 0 ? 1 : Math.exp(logs / relatives.length);
    factors.set(day, factor);
    values.set(day, before * factor);
  }
  return { values, factors, there };
}

/** The indices of contracts, in their order. */
export const indicesOf = (
  contracts: readonly SeriesContract[],
): ReadonlyMap<string, readonly SeriesContract[]> =>
  new Map([["composite", contracts], ...Map.groupBy(contracts, ({ index }) => index)]);

/** The series after a run. `parent` is null for the first one of a store; `isRevision`: of the parent's session. */
export function publishedSeries(
  parent: SeriesByIndex,
  isRevision: boolean,
  run: SeriesRun,
  written: WriteClose,
): SeriesByIndex {
  const { restates } = run;
  const grown = new Map<string, IndexSeries>();
  const restated = new Map<string, IndexSeries>();
  for (const [index, contracts] of indicesOf(run.contracts)) {
    const part: SeriesRun = { ...run, contracts };
    const before = parent.get(index) ?? NEW;
    const series = run.calculates ? withDays(before, isRevision, part) : before;
    grown.set(index, series);
    if (restates !== null) restated.set(index, withRestatement(series, part, restates));
  }
  const changed = [...restated].filter(([index, series]) =>
    changesClose(parent.get(index) ?? NEW, series),
  );
  for (const [index, { link, closes, restatements }] of changed) {
    const { reason, from, members } = restates as Restating;
    // Of an index that has no close any more, the base that it had.
    const days = closes.size === 0 ? (parent.get(index) as IndexSeries).closes : closes;
    const first = Math.max(from ?? 0, link === null ? firstOf(days) : link.day + 1);
    const item = { publication: run.number, reason, how: { from: first, members } };
    const series = restated.get(index) as IndexSeries;
    restated.set(index, { ...series, restatements: [...restatements, item] });
  }
  // A run that changes no published close is no restatement.
  const after = new Map(parent);
  for (const [index, series] of isRevision && run.calculates ? parent : []) {
    // A revision takes an index out of its session as well.
    after.set(index, withoutSession(series, run.session));
  }
  for (const [index, series] of changed.length === 0 ? grown : restated) {
    const closes = [...series.closes].map(([day, close]): [number, Close] => {
      const isNew = close.knownFrom === run.number;
      return [day, isNew ? { ...close, text: written(index, day, close.value) } : close];
    });
    after.set(index, { ...series, closes: new Map(closes) });
  }
  return after;
}

/** The series without the days that a session first published. */
function withoutSession(series: IndexSeries, session: number): IndexSeries {
  const closes = new Map(
    [...series.closes].filter(([, { firstSession }]) => firstSession !== session),
  );
  const members = new Map([...series.members].filter(([day]) => closes.has(day)));
  return { ...series, closes, members };
}

/** The series with the days up to the run's session. A revision calculates the days of its session again. */
function withDays(
  series: IndexSeries,
  isRevision: boolean,
  { number, session, contracts, ledger }: SeriesRun,
): IndexSeries {
  const { closes: published, link, restatements } = series;
  const kept = isRevision ? withoutSession(series, session) : series;
  const closes = new Map(kept.closes);
  const members = new Map(kept.members);
  const last = lastDayOf(session);
  // Days before the base that a restatement chose are no days of a later run.
  const from = closes.size > 0 ? firstOf(published) : 0;
  const earliest = firstDay(contracts, ledger, from, last);
  const base = Math.min(firstOf(closes), earliest ?? Infinity);
  if (base === Infinity) return { closes, members, link, restatements };
  const added: number[] = [];
  for (let day = base; day <= last; day += 1) {
    if (closes.has(day)) continue;
    members.set(day, membersOn(contracts, ledger, day));
    added.push(day);
  }
  const { values } = measured({ closes, members, link }, ledger);
  for (const day of added) {
    const value = values.get(day) as number;
    closes.set(day, {
      text: closeText(value),
      knownFrom: number,
      firstSession: session,
      value,
      valueBefore: values.get(day - 1) ?? null,
    });
  }
  return { closes, members, link, restatements };
}

/** The series with the closes from a day on as known now. */
function withRestatement(
  series: IndexSeries,
  run: SeriesRun,
  { from, members: isOfMembers }: Restating,
): IndexSeries {
  const { number, session, contracts, ledger } = run;
  if (series.closes.size === 0 && !isOfMembers) return series;
  const last = lastDayOf(session);
  const closes = new Map(series.closes);
  const members = new Map(series.members);
  let { link } = series;
  let first = from ?? (link === null ? firstOf(closes) : link.day + 1);
  if (isOfMembers) {
    const linkDay = from === null ? null : from - 1;
    const movesLink = link !== null && linkDay !== null && linkDay < link.day;
    if (from === null) link = null;
    if (movesLink && closes.has(linkDay)) {
      const levels = new Map<string, SeriesLevel>();
      members.set(linkDay, membersOn(contracts, ledger, linkDay));
      for (const id of (members.get(linkDay) as Members).keys()) {
        levels.set(id, levelOn(ledger, id, linkDay) as SeriesLevel);
      }
      link = { day: linkDay, publication: number, levels };
    } else if (movesLink) {
      link = null;
    }
    const goesOn = from !== null && closes.has(from - 1);
    first = goesOn ? from : (firstDay(contracts, ledger, from ?? 0, last) ?? last + 1);
    for (const day of closes.keys()) if (!goesOn && day < first) closes.delete(day);
    const start = link?.day ?? (goesOn ? firstOf(closes) : first);
    for (const day of members.keys()) if (day < start) members.delete(day);
    for (let day = first; day <= last; day += 1) {
      members.set(day, membersOn(contracts, ledger, day));
    }
  }
  const { values } = measured({ closes, members, link }, ledger);
  for (const [day, value] of values) {
    if (day < first || day === link?.day) continue;
    closes.set(day, {
      text: closeText(value),
      knownFrom: number,
      firstSession: series.closes.has(day)
        ? (series.closes.get(day) as Close).firstSession
        : session,
      value,
      valueBefore: values.get(day - 1) ?? null,
    });
  }
  const days = [...closes].toSorted(([a], [b]) => a - b);
  return { ...series, closes: new Map(days), members, link };
}

/** Whether a published close is another one now, or gone, or the days begin earlier. */
function changesClose({ closes: published }: IndexSeries, { closes }: IndexSeries): boolean {
  if (published.size === 0) return false;
  const isOther = [...published].some(([day, { text }]) => {
    const close = closes.get(day);
    return close === undefined || (close.text !== text && !isNear(text, close.value));
  });
  return isOther || firstOf(closes) < firstOf(published);
}

/** Whether the text is the value, rounded half up to four decimals. Doubles may err at the half. */
export const isNear = (text: string, value: number): boolean =>
  Math.abs(Number(text) - value) <= 0.00005 + 1e-11 * value;

/** The value as a close. */
export const closeText = (value: number): string => {
  const units = Math.round(value * 10_000).toString();
  const digits = units.padStart(5, "0");
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`.replace(/\.?0+$/, "");
};

/** The closes whose move contains corrections, with the entry that brought each. */
export function adjustmentsOf({
  closes,
  link,
}: IndexSeries): { day: number; publication: number; factor: number }[] {
  const days = [...closes].toSorted(([a], [b]) => a - b);
  return days.flatMap(([day, { knownFrom, valueBefore }]) => {
    const before = closes.get(day - 1);
    if (before === undefined || knownFrom === null || valueBefore === null) return [];
    if (link !== null && day - 1 <= link.day) return [];
    const factor = valueBefore / before.value;
    return Math.abs(factor - 1) > 1e-6 ? [{ day, publication: knownFrom, factor }] : [];
  });
}

/** What readers need for the next close of a contract. */
export interface LastUsed {
  readonly id: string;
  readonly level: SeriesLevel;
  readonly reference: number;
  readonly isAway: boolean;
}

/** Of the contracts that are in the index now, those that were ever there. */
export function lastUsedOf(
  series: IndexSeries,
  { contracts, ledger, session }: Pick<SeriesRun, "contracts" | "ledger" | "session">,
): LastUsed[] {
  const { there, factors } = measured(series, ledger);
  const days = [...there.keys()];
  return contracts.flatMap(({ id, delistedDay }) => {
    if (delistedDay !== null && session >= 2 * delistedDay) return [];
    const anchor = days.findLast((day) => there.get(day)?.has(id));
    if (anchor === undefined) return [];
    const level = there.get(anchor)?.get(id) as SeriesLevel;
    let reference = Number(level.usd);
    for (const day of days) if (day > anchor) reference *= factors.get(day) as number;
    return [{ id, level, reference, isAway: anchor !== days.at(-1) }];
  });
}

/** A line of /members.csv; `to` is the last day, null while it lasts. */
export interface MemberLine {
  readonly id: string;
  readonly from: number;
  readonly to: number | null;
  readonly limitDays: number;
}

/** The intervals of an index: of the catalog's contracts in their order, then of those that left it, by id. */
export function memberLines(
  { members }: IndexSeries,
  catalog: readonly SeriesContract[],
): MemberLine[] {
  const ids = catalog.map(({ id }) => id);
  const others = new Set([...members.values()].flatMap((day) => [...day.keys()]));
  for (const id of ids) others.delete(id);
  const last = lastOf(members);
  const lines: MemberLine[] = [];
  for (const id of [...ids, ...[...others].toSorted()]) {
    let open: { from: number; limitDays: number } | null = null;
    for (let day = firstOf(members); day <= last + 1; day += 1) {
      const limitDays = members.get(day)?.get(id);
      if (open !== null && limitDays === open.limitDays) continue;
      if (open !== null) lines.push({ id, ...open, to: day - 1 });
      open = limitDays === undefined ? null : { from: day, limitDays };
    }
  }
  return lines.map((line) => (line.to === last ? { ...line, to: null } : line));
}

/** The series with the members of renamed contracts under their new ids. */
export const withNewIds = (
  series: SeriesByIndex,
  renamed: ReadonlyMap<string, string>,
): SeriesByIndex => {
  const moved = <T>(byId: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map([...byId].map(([id, value]) => [renamed.get(id) ?? id, value]));
  return new Map(
    [...series].map(([index, each]) => {
      const members = new Map([...each.members].map(([day, of]) => [day, moved(of)]));
      const link = each.link && { ...each.link, levels: moved(each.link.levels) };
      return [index, { ...each, members, link }];
    }),
  );
};

/**
 * The new ids of the indices of renamed segments: the segment is gone, and all its contracts that are still there stand in
 * one that was not there before, to which no other segment came.
 */
export function renamedIndices(
  before: readonly SeriesContract[],
  after: readonly SeriesContract[],
  renamed: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const found = [...Map.groupBy(before, ({ index }) => index)].flatMap(([index, contracts]) => {
    if (after.some((each) => each.index === index)) return [];
    const ids = contracts.map(({ id }) => renamed.get(id) ?? id);
    const [to, ...others] = new Set(
      after.filter(({ id }) => ids.includes(id)).map((each) => each.index),
    );
    const isNew = !before.some((each) => each.index === to);
    return to !== undefined && others.length === 0 && isNew ? [[index, to] as const] : [];
  });
  return new Map(found.filter(([, to]) => found.filter((each) => each[1] === to).length === 1));
}

/** What belongs to indices, under their new ids. An index that had the new id before gives way. */
export const underNewIndices = <T>(
  byIndex: ReadonlyMap<string, T>,
  moved: ReadonlyMap<string, string>,
): Map<string, T> =>
  new Map(
    [...byIndex]
      .filter(([id]) => moved.has(id) || ![...moved.values()].includes(id))
      .map(([id, item]) => [moved.get(id) ?? id, item]),
  );

/** The series of an index that an older program published, from now on by members. */
export function linkedSeries(
  closes: ReadonlyMap<number, string>,
  publication: number,
  members: Members,
  levels: ReadonlyMap<string, SeriesLevel>,
  restatements: readonly Restatement[],
): IndexSeries {
  const old = { knownFrom: null, firstSession: null, valueBefore: null };
  const kept = [...closes].map(([day, text]): [number, Close] => [
    day,
    { ...old, text, value: Number(text) },
  ]);
  const day = lastOf(closes);
  return {
    closes: new Map(kept),
    members: new Map([[day, members]]),
    link: { day, publication, levels },
    restatements,
  };
}
