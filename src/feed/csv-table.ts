/** Reads the records of CSV as rows of a table: the header first. */
import { counted } from "../lib/text.ts";
import { quotedList } from "./complaints.ts";
import { ourNames, rowLayout, wideLayouts, type Layout } from "./csv-header.ts";
import { ourCell } from "./csv-map.ts";
import { isWide, TableRow, type TableRows } from "./table-row.ts";
import { columnLike } from "./table-shape.ts";

const BY_MAP =
  '; --map reads closes with contracts as columns, with "wide": {"date": "the column of dates"}';

/** Takes the header first, then the rows. Returns false if the header does not fit the table. */
export function recordTaker(rows: TableRows): (record: readonly string[], line: number) => boolean {
  const { source, shape, complaints, where, filter, map, countRow, take } = rows;
  const wide = [...(map?.wide ?? [])].find(([time]) => shape.columns.includes(time));
  const idAt = shape.columns.indexOf("id");
  let layouts: readonly Layout[] | null = null;
  let header: readonly string[] = [];
  /** The first line, if it is no header. It may be a title: the header may be a few lines below. */
  let titleLine: number | null = null;
  /** Empty rows since the last one that is not: a file may end with them. */
  const empty: number[] = [];
  return (record, line) => {
    countRow();
    if (layouts !== null && record.every((cell) => cell.trim() === "")) {
      if (!filter?.leavesOut("")) empty.push(line);
      return true;
    }
    for (const row of empty) complaints.at(where(row), "an empty row above others, expected none");
    empty.length = 0;
    if (layouts === null && wide !== undefined) {
      layouts = wideLayouts(record, rows, wide, line);
      header = record;
      return layouts !== null;
    }
    if (layouts === null) {
      const names = ourNames(record, rows);
      const titles = names.map((name, at) => name ?? (record[at] as string));
      if (titleLine === null && isWide(rows, titles, line, BY_MAP)) return false;
      const known = names.filter((name) => name !== null && columnLike(name, shape)).length;
      if (titleLine !== null) {
        const finding = `looks like the header, expected in line ${titleLine}: delete the lines above it`;
        if (known > 1) complaints.at(where(line), finding);
        return known < 2 && line < titleLine + 10;
      }
      if (known === 0) {
        const seen = source.isAnswer ? "" : ` in ${quotedList(record, 300)}`;
        const expected = shape.columns.map((name) => map?.columns.get(name) ?? name).join(", ");
        complaints.at(where(line), `no known column${seen}, expected a header of ${expected}`);
        titleLine = line;
        return true;
      }
      layouts = rowLayout(record, rows, line);
      header = record;
      return layouts !== null;
    }
    if (record.length !== header.length) {
      const finding = `${counted(record.length, "field")}, expected ${header.length} as in the header`;
      complaints.at(where(line), finding);
      return true;
    }
    // Files that are put together may have each file's header, and a byte order mark before it.
    const isHeader = record.every((cell, at) => cell.replace(/^\ufeff/, "") === header[at]);
    for (const { cells: places, names, level } of layouts) {
      if (level !== null) {
        if ((record[level] as string).trim() === "") continue;
        countRow();
      }
      const cells = places.map((at) => (typeof at === "number" ? record[at] : at));
      const id = cells[idAt] ?? "";
      if (filter?.leavesOut(map === null ? id : (ourCell(map, shape, "id", id) as string)))
        continue;
      if (isHeader) {
        complaints.at(where(line), "the header again, expected once: delete this line");
        return true;
      }
      take(new TableRow(rows, cells, line, true, names));
    }
    return true;
  };
}
