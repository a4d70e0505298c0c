/** Style sheet and script of the report: one text each, out of the files that the pages load. */
import { siteFile } from "../../site/site-files.ts";

/** The whole style sheet: what all pages have, charts, and what only the report has. */
export const REPORT_STYLE = ["style.css", "chart.css", "report.css"]
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
