/**
 * A market for the pages of indices and baskets: contracts that are carried, without a base and with a
 * break, and names that try to be markup, to turn the text around, and to fill the page.
 */
import type { Page } from "playwright-core";
import { roundRatio } from "../../src/market/decimal.ts";
import { dateText, dayOf } from "../../src/market/session.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { lines, mustPublish, SESSION } from "../cli/small-market.ts";

/** Names by id; the first letters of ids are in the order of the board. */
export const NAMES = {
  "a-markup": `<img src=x onerror="window.hacked=1"> & 'more'`,
  "b-turned": "\u{202E}egap eht snrut\u{2066} שלום עולם",
  "c-long": `${"endless".repeat(142)}🧮`,
  "d-plain": "Plain part",
  "e-carried": "Carried part",
  "f-young": "Listed last month",
  "g-broken": "Sold by the tray",
  "h-wafer": "Wafer",
} as const;
type Id = keyof typeof NAMES;

/** On the board, but in no basket. */
export const YOUNG: Id = "f-young";
export const BROKEN: Id = "g-broken";

/** What "c-long" was called before, and before that. */
export const FORMER = ["c-once", "c-first"] as const;

/** Its index has the id `b-dram-b`. */
const HOSTILE_SEGMENT = "<b>DRAM</b>";
const SEGMENTS: Readonly<Record<string, string>> = { a: HOSTILE_SEGMENT, h: "Foundry" };

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function catalog(): string {
  const rows = Object.entries(NAMES).map(([id, name]) => {
    const board = id === "h-wafer" ? "semiconductor" : "memory";
    const segment = SEGMENTS[id[0] as string] ?? "NAND";
    return `${id},${id.toUpperCase()},${quoted(name)},${board},${quoted(segment)},USD per piece,40,Source,https://s.example/${id},${id === "c-long" ? FORMER.join(" ") : ""}`;
  });
  return lines(
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,formerly",
    ...rows,
  );
}

/** 400 days of closes up to the day before the session. */
function closes(): string {
  const today = dayOf(SESSION);
  const rows: string[] = [];
  for (let day = today - 400; day < today; day += 1) {
    for (const [at, id] of Object.keys(NAMES).entries()) {
      if (id === YOUNG && day < today - 40) continue;
      if (id === "e-carried" && day > today - 5) continue;
      const isBreak = id === BROKEN && day === today - 30;
      const usd = (3 + at * 41 + ((day * (at + 3)) % 17) / 8 + (today - day) / 211).toFixed(4);
      rows.push(`${id},${dateText(day)},${usd},${isBreak ? "Another package" : ""}`);
    }
  }
  return lines("id,date,close_usd,break", ...rows);
}

const quotes = (bonus: number): string =>
  lines(
    "id,spot_usd",
    ...Object.keys(NAMES)
      .filter((id) => id !== "e-carried")
      .map((id, at) => `${id},${(4.5 + bonus + at * 41.5).toFixed(3)}`),
  );

/** Publishes the session after SESSION. */
export const publishNext = (store: MemoryStore): Promise<string> =>
  mustPublish(store, { session: "2026-11-21T12Z", quotes: quotes(0.25) });

/** Publishes it for SESSION. */
export async function publishIndexMarket(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await mustPublish(store, {
    catalog: catalog(),
    closes: closes(),
    quotes: quotes(0),
    attribution: "Illustrative levels of a test, not market data",
    acceptMoves: true,
  });
  return store;
}

/** A figure on a page as the decimal that it shows; other texts as they are. */
export const decimalOf = (shown: string): string => {
  const plain = shown.replaceAll(",", "").replace("\u{2212}", "-").replace("+", "");
  return /^-?\d+\.\d+$/.test(plain) ? plain.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") : shown;
};

type Shown = readonly (readonly [field: string, text: string, exact: string | null])[];

/** An expression for the fields, texts and exact figures below the element that `name` holds. */
const shownIn = (name: string): string =>
  `[...${name}.querySelectorAll("[data-field]")].map((place) => [place.dataset.field, place.textContent,` +
  ` place.closest("[data-value]")?.dataset.value ?? null])`;

/** By field, how many of its units people see in a percent or point, and the amount subtracted first. */
const FOR_PEOPLE: Readonly<Record<string, readonly [scale: bigint, less: bigint]>> = {
  level: [1n, 100n],
  relative: [100n, 100n],
  series_close: [1n, 0n],
  contribution: [1n, 0n],
  contribution_24h_pct: [1n, 0n],
  weight_pct: [1n, 0n],
};

/** The exact figures; throws if people see another one than the exact one, rounded. */
const decimalsOf = (shown: Shown): Record<string, string> =>
  Object.fromEntries(
    shown.map(([field, text, exact]) => {
      const seen = decimalOf(text);
      if (exact === null || exact === "") return [field, seen];
      const [scale, less] = FOR_PEOPLE[field] ?? [1n, 0n];
      const [whole = "", fraction = ""] = exact.split(".");
      const denominator = 10n ** BigInt(fraction.length);
      const numerator = BigInt(whole + fraction) * scale - less * denominator;
      // A column of small contributions has four places.
      const isFine = field.startsWith("contribution") && /\.\d{4}$/.test(text);
      const places = isFine ? 4 : field in FOR_PEOPLE ? 2 : fraction.length;
      const expected = roundRatio({ numerator, denominator }, places);
      if (seen !== expected) throw new Error(`${field} ${exact} is shown as ${text}`);
      return [field, decimalOf(exact)];
    }),
  );

/** The figures below elements, by their fields. */
export async function figuresIn(page: Page, selector: string): Promise<Record<string, string>> {
  const places = `[...document.querySelectorAll(${JSON.stringify(selector)})]`;
  return decimalsOf(await page.evaluate<Shown>(`${places}.flatMap((box) => ${shownIn("box")})`));
}

/** The figures of each row of a table, by the row's id. */
export async function rowsIn(
  page: Page,
  table: string,
): Promise<(readonly [id: string, Record<string, string>])[]> {
  const rows = `[...document.querySelectorAll(${JSON.stringify(`${table} tr[data-id]`)})]`;
  const shown = await page.evaluate<[string, Shown][]>(
    `${rows}.map((row) => [row.dataset.id, ${shownIn("row")}])`,
  );
  return shown.map(([id, figures]) => [id, decimalsOf(figures)]);
}

/** An answer, or a contribution in it, whose fields below are figures or texts. */
export type Answer = Readonly<Record<string, string | number | null>>;

/** The fields of an answer, as `figuresIn` returns them. */
export const fieldsOf = (answer: Answer, fields: readonly string[]): Record<string, string> =>
  Object.fromEntries(fields.map((field) => [field, String(answer[field] ?? "n/a")]));

/** Of a contribution. */
export const CONTRIBUTION_FIELDS = [
  "weight_pct",
  "base_usd",
  "spot_usd",
  "relative",
  "contribution",
  "contribution_24h_pct",
  "basis",
];

/** Of an index or a basket. */
export const INDEX_FIELDS = ["level", "chg_24h_pct", "chg_30d_pct", "constituents", "carried"];
