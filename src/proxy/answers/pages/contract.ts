/** The page of a contract, `/contracts/{id}`: its record in the free tier, or that it needs a key. */
import { KEYLESS } from "../../../market/tier.ts";
import { filled, siteFile } from "../../../site/files.ts";
import { recordHtml, type ContractBody } from "../../../site/record.js";
import { PAGES } from "../../uncounted-routes.ts";
import { framed } from "./frame.ts";
import type { PageSource } from "./pages.ts";

const SCRIPT = "contract.js";

/** The page with a contract's record in the free tier. */
export const contractPage = (body: ContractBody): PageSource =>
  page(body.name, recordHtml(body, KEYLESS.delaySessions));

/** Why a page has no record. It names no contract, because the free tier may not know it. */
const WITHOUT_RECORD = {
  key_required: "This contract is not part of the free slice: it needs an API key.",
  not_on_board: "Without an API key this contract has no level so far.",
} as const;

/** The page of every contract whose record is not shown for this reason. */
export const lockedPage = (reason: keyof typeof WITHOUT_RECORD): PageSource =>
  page("Contract", filled(siteFile("contract.html"), { reason: WITHOUT_RECORD[reason] }));

const page = (title: string, main: string): PageSource =>
  framed({ path: PAGES.contract.path, title, main, script: SCRIPT });
