/** The sheet `About`: the workbook's content, its terms, and the meaning of its columns. */
import type { Workbook } from "exceljs";
import type { BoardBasis } from "../../market/series.ts";
import { sessionUtc } from "../../market/session.ts";
import type { TierView } from "../../market/view.ts";
import { WORKBOOK_COLUMNS } from "../../public/columns.ts";
import { SETTLEMENT_COLUMNS } from "../../public/settlement-columns.ts";
import { HEADER_FONT } from "./font.ts";
import { cellText } from "./cell-text.ts";

const BASIS_MEANINGS: { readonly [B in BoardBasis]: string } = {
  reported: "The source reports the level for the session.",
  assessed: "The source assesses the level from its knowledge of the market.",
  estimated: "The level is an estimate; the source neither reports nor assesses it.",
  carried: "No level was given for the session. The last one stands; as_of is its date.",
};

/** The sheet of the settlements, and how many months of each contract and index it has. */
export const SETTLEMENTS_SHEET = "Settlements";
export const SETTLED_MONTHS = 12;

const LABEL_WIDTH = 32;
const TEXT_WIDTH = 100;

/** Adds the sheet after the others. */
export function addAboutSheet(workbook: Workbook, view: TierView, attribution: string): void {
  const sheet = workbook.addWorksheet("About");
  sheet.columns = [
    { width: LABEL_WIDTH, style: { alignment: { vertical: "top" } } },
    {
      width: TEXT_WIDTH,
      style: { alignment: { vertical: "top", horizontal: "left", wrapText: true } },
    },
  ];
  const add = (label: string, value: string | number): void => {
    const row = sheet.addRow([label, typeof value === "string" ? cellText(value) : value]);
    row.getCell(1).font = HEADER_FONT;
  };
  const addHeading = (label: string): void => {
    sheet.addRow([]);
    sheet.addRow([label, "Meaning"]).font = HEADER_FONT;
  };

  add("Session (UTC)", sessionUtc(view.session));
  add("Sessions behind when published", view.tier.delaySessions);
  add("Licence", view.tier.license);
  add("Attribution", attribution);
  addHeading("Column");
  for (const { name, meaning } of WORKBOOK_COLUMNS) sheet.addRow([name, meaning]);
  addHeading(`Column of ${SETTLEMENTS_SHEET}, the last ${SETTLED_MONTHS} settled months`);
  for (const { name, meaning } of SETTLEMENT_COLUMNS) sheet.addRow([name, meaning]);
  addHeading("Basis");
  for (const [basis, meaning] of Object.entries(BASIS_MEANINGS)) sheet.addRow([basis, meaning]);
}
