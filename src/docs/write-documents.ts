/** Writes the documents of src/site/documents and the records of the Python client anew: `node src/docs/write-documents.ts`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { pythonClient } from "../site/site-files.ts";
import { withRecords } from "./client-records.ts";
import { makeDocuments } from "./make-documents.ts";

const FOLDER = new URL("../site/documents/", import.meta.url);
const documents = Object.entries(makeDocuments());
rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const [name, text] of documents) writeFileSync(new URL(name, FOLDER), text);

const CLIENT = new URL("../../clients/python/chipboard_client/__init__.py", import.meta.url);
writeFileSync(CLIENT, withRecords(pythonClient()));
