/** Makes the documents of src/site/documents. `write-documents.ts` writes them, and a test compares them. */
import { readFileSync } from "node:fs";
import { openApiDocument } from "./openapi.ts";
import { basketExample, basketRequest, indicesExample } from "./page-examples.ts";
import { referenceMain } from "./reference-page.ts";
import { sourceText } from "./source-texts.ts";
import { proseMain, withSlots } from "./texts.ts";

/** The text of each document by its name. HTML goes into a page that the service frames. */
export function makeDocuments(): Readonly<Record<string, string>> {
  const guide = withSlots(sourceText("guide-text.md"), true);
  const llms = withSlots(sourceText("llms-text.txt"), true);
  // Its worked example is of the recorded market alone.
  const methodology = withSlots(sourceText("methodology-text.md"), false);
  return {
    "basket-example.html": basketExample(),
    "basket-request.html": basketRequest(),
    "changelog.html": proseMain(changelog()),
    "docs.html": referenceMain(),
    "guide.html": proseMain(guide),
    "guide.md": guide,
    "indices-example.html": indicesExample(),
    "llms.txt": llms,
    "methodology.html": proseMain(methodology),
    "methodology.md": methodology,
    "openapi.json": `${JSON.stringify(openApiDocument(), null, 1)}\n`,
  };
}

const changelog = (): string =>
  readFileSync(new URL("../../CHANGELOG.md", import.meta.url), "utf8").replace(
    "## Unreleased",
    "## Since the last release",
  );
