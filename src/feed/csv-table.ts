/** Reads the records of CSV as rows of a table: the header first. */
import { counted, cut } from "../lib/text.ts";
import { quoted } from "./complaints.ts";
import { columnLike, isWide, TableRow, unknown, type TableRows } from "./table-row.ts";

/** Takes the header first, then the rows. Returns false if the header does not fit the table. */
export function recordTaker(rows: TableRows): (record: readonly string[], line: number) => boolean {
  const { source, shape, complaints, where, filter, countRow, take } = rows;
  let positions: readonly number[] | null = null;
  let header: readonly string[] = [];
  /** The first line, if it is no header. It may be a title: the header may be a few lines below. */
  let titleLine: number | null = null;
  /** Empty rows since the last one that is not: a file may end with them. */
  const empty: number[] = [];
  return (record, line) => {
    countRow();
    if (positions !== null && record.every((cell) => cell.trim() === "")) {
      if (!filter?.leavesOut("")) empty.push(line);
      return true;
    }
    for (const row of empty) complaints.at(where(row), "an empty row above others, expected none");
    empty.length = 0;
    if (positions === null) {
      if (titleLine === null && isWide(rows, record, line)) return false;
      const known = record.filter((name) => columnLike(name, shape) !== undefined).length;
      if (titleLine !== null) {
        const finding = `looks like the header, expected in line ${titleLine}: delete what is above it`;
        if (known > 1) complaints.at(where(line), finding);
        return known < 2 && line < titleLine + 10;
      }
      if (known === 0) {
        const names = source.isAnswer ? "" : ` in ${cut(record.map(quoted).join(", "), 300)}`;
        const expected = `expected a header of ${shape.columns.join(", ")}`;
        complaints.at(where(line), `no known column${names}, ${expected}`);
        titleLine = line;
        return true;
      }
      positions = headerPositions(record, rows, line);
      header = record;
      return positions !== null;
    }
    if (record.length !== header.length) {
      const finding = `${counted(record.length, "field")}, expected ${header.length} as in the header`;
      complaints.at(where(line), finding);
      return true;
    }
    const cells = positions.map((at) => (at < 0 ? "" : (record[at] as string)));
    if (filter?.leavesOut(cells[rows.shape.columns.indexOf("id")] as string)) return true;
    // Files that are put together may have each file's header, and a byte order mark before it.
    if (record.every((cell, at) => cell.replace(/^\ufeff/, "") === header[at]))
      complaints.at(where(line), "the header again, expected once: delete this line");
    else take(new TableRow(rows, cells, line));
    return true;
  };
}

/**
 * The index of each of the table's columns in the file; −1: the file lacks it. Complains of what does not fit;
 * returns null if no row can be read by it: a required column is missing, or one is misspelled or there twice.
 */
function headerPositions(
  header: readonly string[],
  { shape, complaints, where }: TableRows,
  line: number,
): readonly number[] | null {
  const found = (finding: string): void => complaints.at(where(line), finding);
  header.forEach((name, at) => {
    if (!shape.columns.includes(name)) {
      if (name !== "" || header[at - 1] !== "") found(unknown("column", name, at, shape));
    } else if (header.indexOf(name) !== at) found(`column ${quoted(name)} appears twice`);
  });
  for (const name of shape.required) {
    if (!header.some((other) => columnLike(other, shape) === name))
      found(`the header lacks the column ${quoted(name)}`);
  }
  const known = header.map((name) => columnLike(name, shape)).filter((name) => name !== undefined);
  const fits =
    known.every((name, at) => header.includes(name) && known.indexOf(name) === at) &&
    shape.required.every((name) => known.includes(name));
  return fits ? shape.columns.map((name) => header.indexOf(name)) : null;
}
