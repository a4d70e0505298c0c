/** Style sheet and script of the report: one text each, out of the files that the pages load. */
import { FONT, siteBytes, siteFile } from "../../site/site-files.ts";

/** The font of the pages, in the sheet itself: the report loads nothing. */
const FONT_BASE64 = siteBytes(FONT).toString("base64");
const FONT_FACE = `@font-face {
  font-family: "Figtree Variable";
  font-weight: 300 900;
  src: url("data:font/woff2;base64,${FONT_BASE64}") format("woff2");
}
`;

/** The whole style sheet: the font, what all pages have, charts, and what only the report has. */
export const REPORT_STYLE =
  FONT_FACE +
  ["style.css", "chart.css", "report.css"]
    .map(siteFile)
    .join("\n")
    .replaceAll(/\/\*.*?\*\/\n/gs, "");

/** The whole script: the modules one after another, so that none is loaded. */
export const REPORT_SCRIPT = ["table.js", "report.js"]
  .map((name) =>
    siteFile(name)
      .replaceAll(/^import .*\n/gm, "")
      .replaceAll(/^export /gm, "")
      .replaceAll(/^ *\/\*\*.*?\*\/\n/gms, "")
      .replaceAll(/\/\*\* @type .*?\*\/ ?/g, ""),
  )
  .join("");
