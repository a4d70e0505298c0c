/** All files of one tier: which there are, and how each is made. Nothing is made before it is asked for. */
import type { Correction } from "../ledger/corrections.ts";
import { composite, EQUAL_WEIGHT, type Constituent } from "../market/composite.ts";
import type { Session } from "../market/session.ts";
import type { TierName } from "../market/tier.ts";
import { memberships, recordsOf, type Market, type TierView } from "../market/view.ts";
import { renderBasketFile } from "../payload/basket-file.ts";
import type { Envelope } from "../payload/envelope.ts";
import { indexBody, indexHead } from "../payload/index-body.ts";
import { CSV_TYPE, XLSX_TYPE } from "../payload/media-types.ts";
import { FILES } from "../store/paths.ts";
import { renderCsv } from "./csv.ts";
import { boardBody, contractFile } from "./json.ts";
import { renderWorkbook } from "./workbook.ts";

/** A file of a snapshot before it is made. The same call gives the same bytes, any time. */
export interface PlannedFile {
  readonly path: string;
  readonly mediaType: string;
  readonly tier: TierName | null;
  render(): Uint8Array | Promise<Uint8Array>;
}

export const JSON_TYPE = "application/json";

/** Everything that a snapshot is rendered from. */
export interface RenderInput {
  readonly market: Market;
  /** The snapshot's session. */
  readonly head: Session;
  readonly attribution: string;
  readonly corrections: readonly Correction[];
}

export function tierFiles(input: RenderInput, view: TierView): PlannedFile[] {
  const { market, head, attribution } = input;
  const { tier } = view;
  const envelope: Envelope = {
    session: view.session,
    delayedSessions: tier.delaySessions,
    license: tier.license,
    attribution,
  };
  const json = (path: string, text: () => string): PlannedFile => ({
    path,
    mediaType: JSON_TYPE,
    tier: tier.name,
    render: () => Buffer.from(text()),
  });

  // The long ones come first, so that of two threads none is left with one of them at the end.
  const files = [json(FILES.board(tier.name), () => boardBody(envelope, view, head + 1))];
  if (tier.index) {
    files.push(json(FILES.index(tier.name), () => compositeBody(market, view, envelope)));
  }
  if (tier.baskets) {
    const text = (): string => renderBasketFile(envelope, memberships(market, view));
    files.push(json(FILES.basket(tier.name), text));
  }
  if (tier.exports.includes("csv")) {
    const path = FILES.csv(tier.name);
    files.push({ path, mediaType: CSV_TYPE, tier: tier.name, render: () => renderCsv(view) });
  }
  if (tier.exports.includes("xlsx")) {
    const render = (): Promise<Uint8Array> => renderWorkbook(view, { attribution });
    files.push({ path: FILES.xlsx(tier.name), mediaType: XLSX_TYPE, tier: tier.name, render });
  }
  const correctionsOf = Map.groupBy(input.corrections, ({ contract }) => contract);
  const contracts = recordsOf(view).map((record): PlannedFile => {
    const { id } = record.contract;
    return {
      path: FILES.contract(tier.name, id),
      mediaType: JSON_TYPE,
      tier: tier.name,
      render: () => contractFile(envelope, view, record, correctionsOf.get(id) ?? []),
    };
  });
  return [...files, ...contracts];
}

function compositeBody(market: Market, view: TierView, envelope: Envelope): string {
  const members = memberships(market, view);
  const constituents: Constituent[] = members.flatMap((member) =>
    "constituent" in member ? [member.constituent] : [],
  );
  const excluded = members.flatMap((member) =>
    "excluded" in member ? [{ id: member.record.contract.id, reason: member.excluded }] : [],
  );
  const result = composite(
    constituents,
    constituents.map(() => EQUAL_WEIGHT),
  );
  const head = indexHead(envelope, { name: "composite", weighting: "equal" });
  return indexBody(head, result, excluded);
}
