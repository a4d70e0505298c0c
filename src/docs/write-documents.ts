/** Writes the documents of src/site/documents anew: `node src/docs/write-documents.ts`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { makeDocuments } from "./make-documents.ts";

const FOLDER = new URL("../site/documents/", import.meta.url);
const documents = Object.entries(makeDocuments());
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const [name, text] of documents) writeFileSync(new URL(name, FOLDER), text);
