/** Files as strangers have them. Each is refused with a message that names its place, its form and the way on. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import exceljs from "exceljs";
import { parquetWriteBuffer } from "hyparquet-writer";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { counted } from "../../src/lib/text.ts";
import { chipboard } from "../program/program.ts";
import { lines } from "./small-market.ts";
import { inputFolder, jsonIn, runIn } from "./publish-folder.ts";

let folder: string;
beforeAll(() => {
  folder = inputFolder();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** `what` says how a stranger made it; `told` are the messages. */
type File = readonly [name: string, what: string, bytes: string | Uint8Array, ...told: string[]];

const QUOTES = lines("id,spot_usd", "a,11", "b,5");
const HEADER =
  "id, spot_usd, session_utc, basis, as_of, source, source_url, break, low_usd, high_usd, inputs, rationale";
const LEVEL = "expected a number above 0, at most 1000000000, with at most 6 decimals";
const DATE = "expected a date such as 2026-11-21, from 1900-01-01 on";
const PROPOSAL = "; chipboard map --try proposes a map";
const EXCEL = "in Excel save it as CSV UTF-8";
const COMMAS = "expected a header of columns separated by commas";

const LONG = `1,${"2".repeat(120)}`;
const quoteOf = (usd: string): string => lines("id,spot_usd", `a,"${usd}"`, "b,5");
const closeOf = (date: string): string => lines("id,date,close_usd", `a,"${date}",11`);
const packed = (base64: string): Uint8Array => Buffer.from(base64, "base64");
const sheet = new exceljs.Workbook();
sheet.addWorksheet("Quotes").addRows([
  ["id", "spot_usd"],
  ["a", 11],
]);
const parquet = parquetWriteBuffer({
  columnData: [
    { name: "id", data: ["a", "b"], type: "STRING" },
    { name: "spot_usd", data: [11, 5], type: "DOUBLE" },
  ],
});
/** Files of another kind than text in UTF-8. */
const KINDS: readonly File[] = [
  [
    "latin1.csv",
    "a German name as Excel's CSV writes it",
    Buffer.from(lines("id,spot_usd,source", "a,11,x", "b,5,M\u00fcller"), "latin1"),
    `latin1.csv:3: not UTF-8 (is it Latin-1, with "ü"?); ${EXCEL}`,
  ],
  [
    "windows.csv",
    "the euro sign of Windows-1252, in the header",
    Buffer.from([...Buffer.from("id,spot_usd,price in "), 0x80, ...Buffer.from("\na,11,10\n")]),
    `windows.csv:1: not UTF-8 (is it Latin-1, with "€"?); ${EXCEL}`,
  ],
  [
    "korean.csv",
    "CP949, as Korean Excel writes it",
    packed("x7C48SywobDdCmEsMTEK"),
    `korean.csv:1: not UTF-8 (is it euc-kr, with "품목", or euc-jp, with "念鯉", or gb18030, with "前格"?); ${EXCEL}; --map reads quotes and closes, with "encoding": "euc-kr"`,
  ],
  [
    "japanese.csv",
    "Shift JIS",
    packed("k/qVdCyPSZJsCjIwMjYtMTEtMjAsMTEK"),
    `japanese.csv:1: not UTF-8 (is it shift_jis, with "日付", or euc-kr, with "볷븊", or gb18030, with "擔晅"?); ${EXCEL}; --map reads quotes and closes, with "encoding": "shift_jis"`,
  ],
  [
    "ujis.csv",
    "the encoding of Japanese Unix",
    packed("xvzJ1Sy9qsPNCg=="),
    `ujis.csv:1: not UTF-8 (is it euc-jp, with "日付", or gb18030, with "泣烧"?); ${EXCEL}; --map reads quotes and closes, with "encoding": "euc-jp"`,
  ],
  [
    "chinese.csv",
    "the encoding of China, whose bytes are also syllables of Korean",
    packed("yNXG2iy827jxCmEsMTEK"),
    `chinese.csv:1: not UTF-8 (is it gb18030, with "日期", or euc-kr, with "휑퍅", or euc-jp, with "晩豚"?); ${EXCEL}; --map reads quotes and closes, with "encoding": "gb18030"`,
  ],
  [
    "taiwan.csv",
    "the encoding of Taiwan",
    packed("pOm0wSy7+a7mCmEsMTEK"),
    `taiwan.csv:1: not UTF-8 (is it big5, with "日期"?); ${EXCEL}; --map reads quotes and closes, with "encoding": "big5"`,
  ],
  [
    "mail.csv",
    "the encoding of Japanese mail, which has only bytes of ASCII",
    lines("id,\u001b$BF|IU\u001b(B", "a,11"),
    "mail.csv:1: not UTF-8 (is it iso-2022-jp?), expected UTF-8; save it as that",
  ],
  [
    "utf16le.csv",
    "Excel's Unicode text",
    Buffer.from(`\ufeff${QUOTES}`, "utf16le"),
    `utf16le.csv:1: starts with a UTF-16 byte order mark, expected UTF-8; ${EXCEL}`,
  ],
  [
    "utf16be.csv",
    "UTF-16 of the other byte order",
    Buffer.from(`\ufeff${QUOTES}`, "utf16le").swap16(),
    `utf16be.csv:1: starts with a UTF-16 byte order mark, expected UTF-8; ${EXCEL}`,
  ],
  [
    "utf16.csv",
    "UTF-16 without a byte order mark",
    Buffer.from(QUOTES, "utf16le"),
    `utf16.csv:1: a NUL byte, expected UTF-8 text (is it UTF-16?); ${EXCEL}`,
  ],
  [
    "quotes.xlsx",
    "a workbook",
    Buffer.from(await sheet.xlsx.writeBuffer()),
    `quotes.xlsx:1: a workbook or another ZIP file, expected text; ${EXCEL}, or unpack it`,
  ],
  [
    "quotes.xls",
    "a workbook of Excel 97",
    packed("0M8R4KGxGuEAAAAAAAAAAAAAAAAAAAAAPgADAP7/CQAGAAAA"),
    `quotes.xls:1: an old Excel workbook, expected text; ${EXCEL}`,
  ],
  [
    "quotes.zip",
    "a packed table",
    packed("UEsDBBQAAAAAAAAAIQDINRC9FQAAABUAAAAKAAAAcXVvdGVzLmNzdmlkLHNwb3RfdXNkCmEsMTEKYiw1Cg=="),
    `quotes.zip:1: a workbook or another ZIP file, expected text; ${EXCEL}, or unpack it`,
  ],
  [
    "quotes.csv.gz",
    "gzip",
    gzipSync(QUOTES),
    "quotes.csv.gz:1: a gzip file, expected text; unpack it with gunzip",
  ],
  [
    "quotes.csv.bz2",
    "bzip2",
    packed("QlpoOTFBWSZTWQkrZ+0AAAdbgAAQAAQiAAAAtCDOACAAIiG0ag8oQAADIsgXCMLulLtv4u5IpwoSASVs/aA="),
    "quotes.csv.bz2:1: a bzip2 file, expected text; unpack it with bunzip2",
  ],
  [
    "quotes.csv.xz",
    "xz",
    packed("/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAUaWQsc3BvdF91c2QKYSwxMQpiLDUKAAAAAA2NXmnSOhmO"),
    "quotes.csv.xz:1: an xz file, expected text; unpack it with unxz",
  ],
  [
    "quotes.parquet",
    "Parquet",
    new Uint8Array(parquet),
    "quotes.parquet:1: a Parquet file, expected text; write the table as CSV (pandas: to_csv)",
  ],
  [
    "quotes.pdf",
    "a PDF",
    "%PDF-1.7\n%\u00e2\u00e3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "quotes.pdf:1: a PDF, expected text; ask for the table as CSV",
  ],
  [
    "page.csv",
    "a page in place of the download",
    "<!DOCTYPE html>\n<html><body>Sign in, please</body></html>\n",
    `page.csv:1: looks like a web page, ${COMMAS}`,
  ],
  [
    "page.json",
    "the same in place of JSON",
    "<!DOCTYPE html>\n",
    "page.json: looks like a web page, expected an array of objects",
  ],
  [
    "._quotes.csv",
    "what macOS packs beside a file",
    packed("AAUWBwACAABNYWMgT1MgWCAgICAgICAgAAIAAAAJAAAAMgAAAOU="),
    "._quotes.csv:1: metadata of macOS (AppleDouble), expected text; leave out files named ._*",
  ],
  [
    ".DS_Store",
    "what macOS notes of a folder",
    packed("AAAAAUJ1ZDEAABAAAAAIAAAAEAAAAAAK"),
    ".DS_Store:1: a folder's metadata of macOS (.DS_Store), expected text; leave it out",
  ],
  [
    "pointer.csv",
    "a pointer of Git LFS",
    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "pointer.csv:1: a Git LFS pointer, expected the file itself; run git lfs pull",
  ],
  ["mark.csv", "a byte order mark alone", "\ufeff", "mark.csv: the file is empty"],
  ["empty.csv", "nothing", "", "empty.csv: the file is empty"],
];

/** Files with another header than the table's. */
const HEADERS: readonly File[] = [
  [
    "german.csv",
    "Excel's CSV in a region with decimal commas",
    "\ufeffid;spot_usd\r\na;11,5\r\n",
    `german.csv:1: columns separated by semicolons, ${COMMAS}; in a region with decimal points Excel writes commas; --map reads it, with "delimiter": ";"`,
  ],
  [
    "tabs.csv",
    "cells as they are pasted",
    "id\tspot_usd\na\t11\n",
    `tabs.csv:1: columns separated by tabs, ${COMMAS}; --map reads it, with "delimiter": "\\t"`,
  ],
  [
    "mac.csv",
    "lines that end as on an old Macintosh",
    "id,spot_usd\ra,11\rb,5\r",
    `mac.csv:1: lines that end with a carriage return alone, expected a line feed; ${EXCEL}`,
  ],
  [
    "index.csv",
    "the index column of pandas",
    lines(",id,spot_usd", "0,a,11"),
    'index.csv:1: unknown column "", an index? Write the table without it (pandas: index=False)',
  ],
  [
    "reread.csv",
    "the same, read and written again",
    lines("Unnamed: 0,id,spot_usd", "0,a,11"),
    'reread.csv:1: unknown column "Unnamed: 0", an index? Write the table without it (pandas: index=False)',
  ],
  [
    "trailing.csv",
    "commas after the last column",
    lines("id,spot_usd,,", "a,11,,"),
    'trailing.csv:1: unknown column "", a comma too many, or a column without a name',
  ],
  [
    "capitals.csv",
    "columns in other letters",
    lines("ID,Spot USD", "a,11"),
    'capitals.csv:1: unknown column "ID", expected id',
    'capitals.csv:1: unknown column "Spot USD", expected spot_usd',
  ],
  [
    "names.csv",
    "columns of other names",
    lines("Contract,Price (USD)", "a,11"),
    `names.csv:1: no known column in "Contract", "Price (USD)", expected a header of ${HEADER}${PROPOSAL}`,
  ],
  [
    "headless.csv",
    "no header",
    lines("a,11", "b,5"),
    `headless.csv:1: no known column in "a", "11", expected a header of ${HEADER}${PROPOSAL}`,
  ],
  [
    "title.csv",
    "a title above the header",
    lines("Spot prices of 20 November,", ",", "id,spot_usd", "a,11"),
    `title.csv:1: no known column in "Spot prices of 20 November", "", expected a header of ${HEADER}${PROPOSAL}`,
    'title.csv:3: looks like the header, expected in line 1: delete the lines above it, or read it by --map, with "skip": 2',
  ],
  [
    "report.csv",
    "a report with a table at its end",
    lines(...Array.from({ length: 12 }, (_, n) => `Paragraph ${n}`), "id,spot_usd", "a,11"),
    `report.csv:1: no known column in "Paragraph 0", expected a header of ${HEADER}${PROPOSAL}`,
  ],
  [
    "second.csv",
    "an empty row above the header",
    lines(",", "id,spot_usd", "a,11"),
    `second.csv:1: no known column in "", "", expected a header of ${HEADER}${PROPOSAL}`,
    'second.csv:2: looks like the header, expected in line 1: delete the lines above it, or read it by --map, with "skip": 1',
  ],
  [
    "commas.csv",
    "a sheet without a cell",
    lines(",,", ",,"),
    `commas.csv:1: no known column in "", "", "", expected a header of ${HEADER}${PROPOSAL}`,
  ],
  [
    "separator.csv",
    "Excel's line for its separator, and decimals of the same region",
    lines("sep=;", "id;spot_usd", "a;11,5"),
    `separator.csv:3 spot_usd "11,5": ${LEVEL}; no commas, decimals after a point: write 11.5`,
  ],
];

const A_SESSION = "expected a row for each id and session, with id, spot_usd, session_utc";
const A_DATE = "expected a row for each id and date, with id, date, close_usd";
const BY_MAP =
  '; --map reads closes with contracts as columns, with "wide": {"date": "the column of dates"}';
/** Tables with a column for each date or contract: one error each. */
const WIDE: readonly File[] = [
  [
    "days.csv",
    "a column for each day",
    lines("id,2026-11-19,2026-11-20", "a,11,12", "b,5,6"),
    `days.csv:1: a wide table, with dates as columns ("2026-11-19", "2026-11-20"), ${A_SESSION}${BY_MAP}`,
  ],
  [
    "closes-months.csv",
    "a column for each month, and names of contracts",
    lines("Name,Unit,Jan 2026,Feb 2026", "a,USD,11,12"),
    `closes-months.csv:1: a wide table, with dates as columns ("Jan 2026", "Feb 2026"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "closes-pivot.csv",
    "a pivot of pandas, with an index without a name",
    lines(`,${Array.from({ length: 30 }, (_, n) => `2026-10-${n + 1}`).join(",")}`, "a,11"),
    `closes-pivot.csv:1: a wide table, with dates as columns ("2026-10-1", "2026-10-2", "2026-10-3", ` +
      `"2026-10-4", "2026-10-5", "2026-10-6", "2026-10-7", "2026-10…), ${A_DATE}${BY_MAP}`,
  ],
  [
    "contracts.csv",
    "a column for each contract",
    lines("date,a,b", "2026-11-19,11,5", "2026-11-20,12,6"),
    `contracts.csv:1: a wide table, with contracts as columns ("a", "b"), ${A_SESSION}${BY_MAP}`,
  ],
  [
    "closes-contracts.csv",
    "the same of closes",
    lines("date,a,b", "2026-11-19,11,5"),
    `closes-contracts.csv:1: a wide table, with contracts as columns ("a", "b"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "closes-tag.csv",
    "contracts and other columns, with other names for the day",
    lines("Tag,Volumen,Close,A ,b", "19.11.2026,7,1,11,5"),
    `closes-tag.csv:1: a wide table, with contracts as columns ("A ", "b"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "closes-named.csv",
    "contracts beside columns of ours",
    lines("date,close_usd,a,b", "2026-11-19,7,11,5"),
    `closes-named.csv:1: a wide table, with contracts as columns ("a", "b"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "closes-one.csv",
    "one contract, in a file of a language without Latin letters",
    lines("날짜,A,메모", "2026-11-19,11,x"),
    `closes-one.csv:1: a wide table, with contracts as columns ("A"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "days.json",
    "the same as objects",
    '[{"id":"a","2026-11-19":11},{"id":"b","2026-11-19":5}]',
    `days.json[0]: a wide table, with dates as columns ("2026-11-19"), ${A_SESSION}${BY_MAP}`,
  ],
  [
    "closes-contracts.ndjson",
    "contracts as members",
    '{"date":"2026-11-19","a":11,"b":5}\n{"date":"2026-11-20","a":12,"b":6}\n',
    `closes-contracts.ndjson:1: a wide table, with contracts as columns ("a", "b"), ${A_DATE}${BY_MAP}`,
  ],
  [
    "closes-ohlc.csv",
    "prices of one contract, which are no wide table",
    lines("date,open,close", "2026-11-19,11,12"),
    'closes-ohlc.csv:1: unknown column "open", expected id, date, close_usd, break, low_usd, high_usd',
    'closes-ohlc.csv:1: unknown column "close", expected id, date, close_usd, break, low_usd, high_usd',
    'closes-ohlc.csv:1: the header lacks the column "id"',
    'closes-ohlc.csv:1: the header lacks the column "close_usd"',
  ],
];

/** Files with rows that are none. */
const ROWS: readonly File[] = [
  [
    "merge.csv",
    "marks of git, which could not merge",
    lines("id,spot_usd", "a,11", "<<<<<<< HEAD:q.csv", "b,5", "=======", "b,6", ">>>>>>> 384ebb8"),
    "merge.csv:3: a mark of a merge conflict (<<<<<<<), expected the rows of one side; merge the file first",
  ],
  [
    "merge.json",
    "the same in JSON, of which a side is lost",
    '[{"id":"a","spot_usd":11},\n{"id":"b","spot_usd":5}\n>>>>>>> theirs\n]\n',
    "merge.json:3: a mark of a merge conflict (>>>>>>>), expected the rows of one side; merge the file first",
  ],
  [
    "merge.ndjson",
    "the same in NDJSON, with three sides",
    '{"id":"a","spot_usd":11}\n||||||| base\n{"id":"b","spot_usd":5}\n',
    "merge.ndjson:2: a mark of a merge conflict (|||||||), expected the rows of one side; merge the file first",
  ],
  [
    "hyphen.csv",
    "an id with blanks for hyphens",
    lines("id,spot_usd", "A -,11"),
    'hyphen.csv:2 id "A -": expected a contract of the catalog; write a',
  ],
  [
    "joined.csv",
    "files put together, each with its header",
    lines("id,spot_usd", "a,11", "\ufeffid,spot_usd", "b,5"),
    "joined.csv:3: the header again, expected once: delete this line",
  ],
  [
    "gap.csv",
    "empty rows between others",
    lines("id,spot_usd", "a,11", ",", ", ", "b,5", "a,11", ","),
    "gap.csv:3: an empty row above others, expected none",
    "gap.csv:4: an empty row above others, expected none",
  ],
  [
    "open.csv",
    "a quotation mark that nothing closes",
    lines("id,spot_usd,source", 'a,11,"Exchange', "b,5,x"),
    "open.csv:2: a quoted field is not closed",
  ],
  [
    "inches.csv",
    "a quotation mark for inches",
    lines("id,spot_usd,source", 'a,11,12" wafer'),
    "inches.csv:2: not valid CSV (RFC 4180): a quotation mark inside an unquoted field",
  ],
  [
    "comma.csv",
    "a decimal comma without quotation marks",
    lines("id,spot_usd", "a,11,5"),
    "comma.csv:2: 3 fields, expected 2 as in the header",
  ],
  [
    "blank.csv",
    "a blank before an id",
    lines("id,spot_usd", " a,11"),
    'blank.csv:2 id " a": expected a contract of the catalog; write a',
  ],
  [
    "nobreak.csv",
    "a blank that nobody sees",
    lines("id,spot_usd", "\u00a0a,11"),
    'nobreak.csv:2 id "\\u00a0a": expected a contract of the catalog; write a',
  ],
  [
    "long.csv",
    "a level of 122 characters",
    quoteOf(LONG),
    `long.csv:2 spot_usd "${LONG.slice(0, 120)}…": ${LEVEL}`,
  ],
  [
    "letters.csv",
    "an id in capitals",
    lines("id,spot_usd", "A,11"),
    'letters.csv:2 id "A": expected a contract of the catalog; write a',
  ],
  [
    "object.json",
    "an object around the array",
    '{"data":[{"id":"a","spot_usd":11}]}',
    'object.json: expected an array of objects, found an object; give the array within it alone, or read it by --map, with "rows": "data"',
  ],
  [
    "object.ndjson",
    "the same in a line",
    '{"data":[{"id":"a","spot_usd":11}]}\n',
    `object.ndjson:1: no known field, expected ${HEADER}; give the array within it alone, or read it by --map, with "rows": "data"`,
  ],
  [
    "nan.ndjson",
    "NaN, as Python writes it",
    '{"id":"a","spot_usd":NaN}\n{"id":"a","source":"NaN"]\n',
    "nan.ndjson:1: not JSON: the value NaN, expected a number",
    "nan.ndjson:2: not JSON: Expected ',' or '}' after property value in JSON at position 24",
  ],
  [
    "capitals.json",
    "fields in other letters",
    '[{"ID":"a","spot_usd":11}]',
    'capitals.json[0]: unknown field "ID", expected id',
  ],
  [
    "twice.json",
    "a level that stands twice, of which JSON.parse takes the last",
    '[{"id":"b","spot_usd":5},{"id":"a","spot_usd":12.5,"spot_usd":21.5}]',
    'twice.json[1]: the field "spot_usd" appears twice',
  ],
  [
    "twice.ndjson",
    "the same in a line, with an escape, and within a value",
    '{"id":"b","spot_usd":5}\n{"id":"a","spot_usd":{"usd":1,"usd":2},"spot\\u005fusd":11}\n',
    'twice.ndjson:2: the field "spot_usd.usd" appears twice',
    'twice.ndjson:2: the field "spot_usd" appears twice',
  ],
  [
    "two-ids.json",
    "two ids in a row",
    '[{"id":"b","spot_usd":5},{"id":"a","id":"x","spot_usd":11}]',
    'two-ids.json[1]: the field "id" appears twice',
  ],
];

const AMBIGUOUS =
  "ambiguous: 37440 if the comma separates thousands, 37.440 if it begins the decimals";
/** A level as it stands in a cell, and what the message says of it. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ["1,234.56", "no thousands separators: write 1234.56"],
  ["1,234,567", "no thousands separators: write 1234567"],
  ["1.234.567", "no thousands separators: write 1234567"],
  ["12,34,567.8", "no thousands separators: write 1234567.8"],
  ["1'234.50", "no thousands separators: write 1234.50"],
  ["1.234,56", "no thousands separators, no commas, decimals after a point: write 1234.56"],
  ["1'234,567", "no thousands separators, no commas, decimals after a point: write 1234.567"],
  ["1 234,56", "no spaces, no commas, decimals after a point: write 1234.56"],
  ["1\u202f234", "no spaces: write 1234"],
  ["37,440", AMBIGUOUS],
  ["$37,440", `no currency sign, ${AMBIGUOUS}`],
  ["３７，４４０", `no full-width characters, ${AMBIGUOUS}`],
  ["0,440", "no commas, decimals after a point: write 0.440"],
  ["1250,125", "no commas, decimals after a point: write 1250.125"],
  ["8,12345678", "no commas, decimals after a point"],
  ["１２．５", "no full-width characters: write 12.5"],
  ["$12.40", "no currency sign: write 12.40"],
  ["US$12.40", "no currency sign: write 12.40"],
  ["USD 12.40", "no currency sign: write 12.40"],
  ["12.40USD", "no currency sign: write 12.40"],
  ["12.40 €", "US dollars without a currency sign"],
  ["NT$12.40", "US dollars without a currency sign, no unit"],
  ["37,440원", `US dollars without a currency sign, ${AMBIGUOUS}`],
  ["12.40 USD/GB", "no unit"],
  ["12.40/GB", "no unit"],
  ["12%", "no unit"],
  ["1,2E+03", "plain digits, no exponent, no commas, decimals after a point"],
  ["12.40 ", "no spaces"],
];

const period = (noun: string): string => `; seems to be a ${noun}: write the day of the level`;
/** A date as it stands in a cell, and what the message says of it. */
const DATES: readonly (readonly [string, string])[] = [
  ["01/03/2022", "; ambiguous: DD/MM/YYYY is 2022-03-01, MM/DD/YYYY is 2022-01-03"],
  ["1-3-2022", "; ambiguous: DD-MM-YYYY is 2022-03-01, MM-DD-YYYY is 2022-01-03"],
  ["1/3/2022 0:00", "; ambiguous: DD/MM/YYYY is 2022-03-01, MM/DD/YYYY is 2022-01-03"],
  ["31/03/2022", "; seems to be DD/MM/YYYY: write 2022-03-31"],
  ["03/31/2022", "; seems to be MM/DD/YYYY: write 2022-03-31"],
  ["03.01.2022", "; seems to be DD.MM.YYYY: write 2022-01-03"],
  ["2022/01/03", "; seems to be YYYY/MM/DD: write 2022-01-03"],
  ["2022-1-3", "; seems to be YYYY-MM-DD: write 2022-01-03"],
  ["20220103", "; seems to be YYYYMMDD: write 2022-01-03"],
  ["Nov 21, 2022", "; seems to be MMM D, YYYY: write 2022-11-21"],
  ["November 21, 2022", "; seems to be MMM D, YYYY: write 2022-11-21"],
  ["Sept. 1, 2022", "; seems to be MMM D, YYYY: write 2022-09-01"],
  ["21-NOV-2022", "; seems to be D-MMM-YYYY: write 2022-11-21"],
  ["21-Nov-22", "; seems to be D-MMM-YY: write 2022-11-21"],
  ["21 Nov 2022", "; seems to be D MMM YYYY: write 2022-11-21"],
  ["21.11.22", "; seems to be DD.MM.YY: write 2022-11-21"],
  ["11/21/22", "; seems to be MM/DD/YY: write 2022-11-21"],
  ["2022年11月21日", "; seems to be YYYY年MM月DD日: write 2022-11-21"],
  ["31-Feb-2022", ""],
  ["44621", "; seems to be an Excel serial number: write 2022-03-01"],
  ["44621.5", "; seems to be an Excel serial number: write 2022-03-01"],
  ["2022-01-03 00:00:00", "; seems to be YYYY-MM-DD with a time: write 2022-01-03"],
  ["2022-01-03T00:00:00Z", "; seems to be YYYY-MM-DD with a time: write 2022-01-03"],
  [" 2022-01-03", "; no spaces"],
  ["2022-02-30", ""],
  ["30.02.2022", ""],
  ...[
    "1960M01",
    "1960M1",
    "2026-11",
    "2026/11",
    "11/2026",
    "202611",
    "Nov-26",
    "November 2026",
    "2026-M11",
    "2026年11月",
  ].map((text): readonly [string, string] => [text, period("month")]),
  ["2026Q3", period("quarter")],
  ["Q1 2022", period("quarter")],
  ["3Q26", period("quarter")],
  ["2026W05", period("week")],
  ["2026-W05-1", period("week")],
  ["2026H1", period("half-year")],
  ["2026", period("year")],
  ["2026M13", ""],
  ["2026Q5", ""],
];

const FILES: readonly File[] = [
  ...KINDS,
  ...HEADERS,
  ...WIDE,
  ...ROWS,
  ...NUMBERS.map(([usd, slip], n): File => {
    const name = `level-${n}.csv`;
    const shown = usd.replace("\u202f", "\\u202f");
    return [name, usd, quoteOf(usd), `${name}:2 spot_usd "${shown}": ${LEVEL}; ${slip}`];
  }),
  ...DATES.map(([date, slip], n): File => {
    const name = `closes-${n}.csv`;
    return [name, date, closeOf(date), `${name}:2 date "${date}": ${DATE}${slip}`];
  }),
];
const lineFor = (name: string): string =>
  `publish --catalog c.csv --${name.startsWith("closes") ? "closes" : "quotes"} ${name} --store x`;
const messageOf = (told: readonly string[]): string =>
  `error: ${counted(told.length, "error")} in the input; nothing was written\n` +
  told.map((line) => `  ${line}\n`).join("");

const CASES = FILES.map(([name, what, bytes, ...told]) => ({ name, what, bytes, told }));
test.each(CASES)("$name: $what", async ({ name, bytes, told }) => {
  writeFileSync(join(folder, name), bytes);
  const { code, stdout, stderr } = await runIn(folder, lineFor(name));
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr.slice(stderr.indexOf("error: "))).toBe(messageOf(told));
  expect(readdirSync(folder)).not.toContain("x");
});

test("all of them at once, in a process: each message is there", async () => {
  const quotes = [...KINDS, ...HEADERS, ...ROWS];
  for (const [name, , bytes] of quotes) writeFileSync(join(folder, name), bytes);
  const words = ["publish", "--catalog", "c.csv", "--store", "x", "--quotes"];
  const { code, stderr } = await chipboard([...words, ...quotes.map(([name]) => name)], {
    cwd: folder,
  });
  expect(code).toBe(2);
  const told = messageOf(quotes.flatMap(([, , , ...each]) => each)).split("\n");
  // Ids are compared with the catalog when all files are read.
  expect(stderr.slice(stderr.indexOf("error: ")).split("\n").toSorted()).toEqual(told.toSorted());
});

describe("empty last rows", () => {
  const EMPTY_ROWS = lines(",", ",,,", '"",""', " , ", " ");

  test("are skipped, of every file, whatever their number of cells", async () => {
    const catalog = readFileSync(join(folder, "c.csv"), "utf8");
    writeFileSync(join(folder, "c-last.csv"), `${catalog}${",".repeat(30)}\n,\n`);
    writeFileSync(join(folder, "q-last.csv"), `${QUOTES}${EMPTY_ROWS}`);
    writeFileSync(join(folder, "h-last.csv"), `${closeOf("2026-11-19")},,`);
    const line = "publish --catalog c-last.csv --quotes q-last.csv --closes h-last.csv --store y";
    const { code, stderr } = await runIn(folder, line);
    expect([code, stderr.includes("error")]).toEqual([0, false]);
    const { inputs } = jsonIn(folder, "y/sessions/2026-11-21T00Z/r1/manifest.json");
    expect(inputs.map(({ rows }: { rows: number }) => rows)).toEqual([2, 2, 1]);
  });

  test("rows without an id are left out with --ignore-unknown, as before", async () => {
    writeFileSync(join(folder, "q-gap.csv"), lines("id,spot_usd", "a,11", ",", "b,5"));
    const line = "publish --catalog c.csv --quotes q-gap.csv --store z";
    expect((await runIn(folder, line)).code).toBe(2);
    const { code, stdout } = await runIn(folder, `${line} --ignore-unknown`);
    expect([code, stdout]).toEqual([0, expect.stringContaining("1 row left out")]);
  });
});

test("dates of many days in one form are one finding", async () => {
  const days = Array.from({ length: 30 }, (_, n) => `a,${n + 1}.10.2026,11`);
  writeFileSync(join(folder, "days.csv"), lines("id,date,close_usd", ...days));
  const { stderr } = await runIn(folder, "publish --catalog c.csv --closes days.csv --store x");
  expect(stderr.slice(stderr.indexOf("error: "))).toBe(
    messageOf([
      `days.csv:2 date "1.10.2026": ${DATE}; seems to be DD.MM.YYYY: write 2026-10-01; ` +
        '30 rows have such an error, the next are days.csv:3 date "2.10.2026" and days.csv:4 date "3.10.2026"',
    ]),
  );
});
