/** Style sheet and script of the report: one text each, out of the files that the pages load. */
import { siteFile } from "../../site/files.ts";

/** What the report needs of style.css, by the comments that begin its sections. */
const SECTIONS = [
  "The look of all pages and of the report",
  "Masthead and foot",
  "Forms",
  "Tables and figures",
  "Charts",
];

/** The whole style sheet. Throws if style.css lacks a section. */
export const REPORT_STYLE = [
  ...SECTIONS.map((title) => {
    const section = siteFile("style.css")
      .split(/^(?=\/\* )/m)
      .find((text) => text.startsWith(`/* ${title}`));
    if (section === undefined) throw new Error(`style.css has no section ${title}`);
    return section;
  }),
  siteFile("report.css"),
]
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
