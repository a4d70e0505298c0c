/** Rows of levels compared with the parent's. test/property/known-when.test.ts publishes them. */
import { describe, expect, test } from "vitest";
import { KnownRows, NO_ROWS_BEFORE, type RecordTexts } from "../../src/render/known-rows.ts";

const DAY = (day: string): string => `2026-11-${day}T00:00:00.000Z`;
/** A row of levels.csv without its id. */
const row = (day: string, usd: string, reason = ""): string =>
  `${DAY(day)},${usd},,,,reported,2026-11-${day},${reason}`;
const lines = (...records: readonly string[]): string =>
  records.map((record) => `${record}\r\n`).join("");
const texts = (records: Readonly<Record<string, string>>): RecordTexts =>
  new Map(Object.entries(records).map(([id, text]) => [id, () => text]));

interface Before {
  readonly levels?: Readonly<Record<string, string>>;
  readonly superseded?: Readonly<Record<string, string>>;
  readonly catalog?: readonly { readonly id: string; readonly formerly: readonly string[] }[];
  readonly floor?: string;
  /** The ids of the parent's catalog. */
  readonly listed?: readonly string[];
}

const LISTED = [{ id: "a", formerly: [] }];

/** The rows of entry 7. */
const entry7 = ({
  levels = {},
  superseded = {},
  catalog = LISTED,
  floor = "2026-10-31",
  listed = [],
}: Before) => {
  const before = { levels: texts(levels), superseded: texts(superseded), listed: new Set(listed) };
  return new KnownRows(7, before, catalog, floor);
};

test("without a parent's files all rows are new, and none is superseded", () => {
  const known = new KnownRows(7, NO_ROWS_BEFORE, [{ id: "a", formerly: ["z"] }], "2026-10-31");
  const rows = [row("01", "1"), row("02", "2")];
  expect(known.levelLines("a", rows)).toBe(lines(`a,${rows[0]},7`, `a,${rows[1]},7`));
  expect(known.supersededLines("a", () => rows)).toBe("");
  expect([...known.ids]).toEqual([]);
});

test("a row keeps its number, a changed one moves, one that returns is new", () => {
  const known = entry7({
    levels: { a: lines(`a,${row("01", "1")},2`, `a,${row("02", "2")},3`, `a,${row("03", "3")},4`) },
    superseded: { a: lines(`a,${row("02", "9")},2,3`) },
  });
  const rows = [row("01", "1"), row("02", "9"), row("04", "4")];
  expect(known.levelLines("a", rows)).toBe(
    lines(`a,${rows[0]},2`, `a,${rows[1]},7`, `a,${rows[2]},7`),
  );
  expect(known.supersededLines("a", () => rows)).toBe(
    lines(
      `a,${row("02", "9")},2,3,false`,
      `a,${row("02", "2")},3,7,false`,
      `a,${row("03", "3")},4,7,false`,
    ),
  );
});

test("a text that goes on, or begins with the other, is another row", () => {
  const before = [
    row("01", "1", "New"),
    row("02", "2", '"New, by the lot"'),
    row("03", "3", ""),
    row("04", "4", '"Two\nlines, of ""10"",7"'),
  ];
  const known = entry7({ levels: { a: lines(...before.map((each) => `a,${each},5`)) } });
  const rows = [
    row("01", "1", "Newer"),
    row("02", "2", "New"),
    row("03", "3", "7"),
    before[3] as string,
  ];
  expect(known.levelLines("a", rows)).toBe(
    lines(...rows.slice(0, 3).map((each) => `a,${each},7`), `a,${rows[3]},5`),
  );
  expect(known.supersededLines("a", () => rows)).toBe(
    lines(...before.slice(0, 3).map((each) => `a,${each},5,7,false`)),
  );
});

test("superseded rows of a session stand in the order of the entries that brought them", () => {
  const known = entry7({
    levels: { a: lines(`a,${row("02", "2")},6`) },
    superseded: {
      a: lines(`a,${row("02", "8")},3,5`, `a,${row("02", "9")},5,6`, `a,${row("03", "1")},4,6`),
    },
  });
  expect(known.supersededLines("a", () => [row("02", "5")])).toBe(
    lines(
      `a,${row("02", "8")},3,5,false`,
      `a,${row("02", "9")},5,6,false`,
      `a,${row("02", "2")},6,7,false`,
      `a,${row("03", "1")},4,6,false`,
    ),
  );
});

describe("the depth", () => {
  const before: Before = {
    levels: { a: lines(`a,${row("10", "1")},1`, `a,${row("11", "1")},1`, `a,${row("12", "1")},1`) },
    superseded: {
      a: lines(`a,${row("10", "9")},1,2`, `a,${row("11", "9")},1,2`, `a,${row("12", "9")},1,2`),
    },
    floor: "2026-11-11",
  };

  test("what leaves it is not superseded, and the row before it keeps its number", () => {
    const known = entry7(before);
    const rows = [row("11", "1"), row("12", "1")];
    expect(known.levelLines("a", rows)).toBe(lines(`a,${rows[0]},1`, `a,${rows[1]},1`));
    expect(known.supersededLines("a", () => rows)).toBe(lines(`a,${row("12", "9")},1,2,false`));
  });

  test("of rows that end, those within it are superseded", () => {
    const rows = [row("11", "5"), row("12", "5")];
    expect(entry7(before).supersededLines("a", () => rows)).toBe(
      lines(`a,${row("12", "9")},1,2,false`, `a,${row("12", "1")},1,7,false`),
    );
  });
});

describe("contracts", () => {
  test("a rename moves the rows of both files and changes none", () => {
    const known = entry7({
      levels: { old: lines(`old,${row("02", "2")},3`) },
      superseded: {
        old: lines(`old,${row("02", "1")},2,3`),
        new: lines(`new,${row("01", "1")},4,5`),
      },
      catalog: [{ id: "new", formerly: ["older", "old"] }],
    });
    expect([...known.ids]).toEqual(["new"]);
    expect(known.levelLines("new", [row("02", "2")])).toBe(lines(`new,${row("02", "2")},3`));
    expect(known.supersededLines("new", () => [])).toBe(
      lines(`new,${row("01", "1")},4,5,false`, `new,${row("02", "1")},2,3,false`),
    );
  });

  test("a rename alone moves superseded rows", () => {
    const known = entry7({
      superseded: { old: lines(`old,${row("02", "1")},2,3`) },
      catalog: [{ id: "new", formerly: ["old"] }],
    });
    expect(known.supersededLines("new", () => [])).toBe(lines(`new,${row("02", "1")},2,3,false`));
  });

  test("all rows of one that left the catalog are superseded", () => {
    const known = entry7({ levels: { gone: lines(`gone,${row("02", "2")},3`) } });
    expect([...known.ids]).toEqual(["gone"]);
    expect(known.supersededLines("gone", () => [])).toBe(lines(`gone,${row("02", "2")},3,7,true`));
  });

  test("of an older program's rows, those left that ended last with a contract that is out", () => {
    const older = [`gone,${row("01", "1")},2,3`, `gone,${row("02", "1")},2,5`];
    const known = entry7({ superseded: { gone: lines(...older) } });
    const expected = lines(`${older[0]},false`, `${older[1]},true`);
    expect(known.supersededLines("gone", () => [])).toBe(expected);
    const next = entry7({ superseded: { gone: expected } });
    expect(next.supersededLines("gone", () => [])).toBe(expected);
    // A contract that leaves now has ended none of the rows of before.
    const leaving = entry7({ superseded: { gone: lines(...older) }, listed: ["gone"] });
    expect(leaving.supersededLines("gone", () => [])).toBe(
      lines(...older.map((record) => `${record},false`)),
    );
  });
});

test.each([
  ["no line break", `a,${row("01", "1")},2`],
  ["a quotation mark alone", lines(`a,${row("01", "1", '"New')},2`)],
  ["nothing but an id", "a"],
])("%s in the parent's rows is damage", (_what, text) => {
  const damage = "a: a record in levels.csv or superseded.csv of the head is not CSV";
  expect(() => entry7({ levels: { a: text } }).levelLines("a", [row("02", "2")])).toThrow(damage);
  const known = entry7({ superseded: { a: text }, floor: "2026-12-01" });
  expect(() => known.supersededLines("a", () => [])).toThrow(damage);
});

test("both files come out the same in either order", () => {
  const before: Before = { levels: { a: lines(`a,${row("01", "1")},2`, `a,${row("02", "2")},3`) } };
  const rows = [row("02", "2")];
  const [first, second] = [entry7(before), entry7(before)];
  const levels = first.levelLines("a", rows);
  const superseded = second.supersededLines("a", () => rows);
  expect(first.supersededLines("a", () => rows)).toBe(superseded);
  expect(second.levelLines("a", rows)).toBe(levels);
  expect(superseded).toBe(lines(`a,${row("01", "1")},2,7,false`));
});
