/** Makes the documents of src/site/documents. `write-documents.ts` writes them, and a test compares them. */
import { readFileSync } from "node:fs";
import { openApiDocument } from "./openapi.ts";
import { slotOf } from "../pages/document-slots.ts";
import { basketUrl } from "../site/requests.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { escaped } from "../site/text.js";
import { referenceMain } from "./reference-page.ts";
import { searchIndex } from "./search-index.ts";
import { sourceText } from "./source-texts.ts";
import { proseMain, withSlots } from "./texts.ts";

/** The text of each document by its name. HTML goes into a page that the service frames. */
export function makeDocuments(): Readonly<Record<string, string>> {
  const guide = withSlots(sourceText("guide-text.md"), true);
  const llms = withSlots(sourceText("llms-text.txt"), true);
  // Its worked example is of the recorded market alone.
  const methodology = withSlots(sourceText("methodology-text.md"), false);
  const framed = {
    "alerts.html": proseMain(withSlots(sourceText("alerts-text.md"), true)),
    "guide.html": proseMain(guide),
    "methodology.html": proseMain(methodology),
  };
  return {
    ...framed,
    "basket-request.html": basketRequest(),
    "changelog.html": proseMain(changelog()),
    "docs.html": referenceMain(),
    "guide.md": guide,
    "llms.txt": llms,
    "methodology.md": methodology,
    "openapi.json": `${JSON.stringify(openApiDocument(), null, 1)}\n`,
    "search-index.js": searchIndex(framed),
  };
}

/** Programs that price the example of `/basket`, of contracts of the served market. */
function basketRequest(): string {
  const ids = [slotOf("contract-1"), slotOf("contract-2")].join(",");
  const query = `ids=${ids}&quantities=64,2`;
  const url = escaped(basketUrl(slotOf("origin"), query));
  const programs = fillTemplate(siteFile("request-json.html"), { url });
  return `<div id="programs" data-query="${escaped(query)}">${programs}</div>\n`;
}

/** The sections of CHANGELOG.md on the API, a level up: `### API 1.0.0` of `## 0.3.0, 2026-12-01` is `## 1.0.0, 2026-12-01`. */
function changelog(): string {
  const text = readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
  const versions = text.split(/^## /m).flatMap((release) => {
    const [head = "", ...sections] = release.split(/^### /m);
    const date = /, \d{4}-\d{2}-\d{2}$/m.exec(head)?.[0] ?? "";
    const changes = sections.find((section) => section.startsWith("API "));
    return changes === undefined
      ? []
      : changes.replace(/^API (\S+)/, `## $1${date}`).replaceAll(/^#### /gm, "### ");
  });
  return ["# Changelog\n\nThe versions of the API, newest first.\n", ...versions].join("\n");
}
