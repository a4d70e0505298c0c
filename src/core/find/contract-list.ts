/**
 * `/contracts` and `/contracts.csv`: what the catalog says of contracts and segments, and how many closes each
 * contract has. It is public, and has neither levels nor their dates.
 */
import type { z } from "zod";
import { utf8 } from "../../lib/bytes.ts";
import { cacheOf, getOrMake } from "../../lib/caches.ts";
import { jsonText } from "../../lib/json.ts";
import { NO_QUEUE } from "../../lib/turns.ts";
import type { Contract } from "../../market/contract.ts";
import { COMPOSITE, indexIdsOf, indicesOf } from "../../market/indices.ts";
import { dateText, sessionUtc, type Session } from "../../market/session.ts";
import { csvText, harmless } from "../../lib/csv.ts";
import type { CloseCounts } from "../../public/payload-schemas.ts";
import type { contracts } from "../../public/answer-schemas.ts";
import { isDenial, type Denial } from "../../public/problems.ts";
import { faultsDenial, nameFaults } from "../../public/query.ts";
import { UNCOUNTED_ROUTES } from "../../public/uncounted-routes.ts";
import { CSV_TYPE, JSON_TYPE } from "../../store/media-types.ts";
import type { Forms } from "../serve/entity.ts";
import { cacheControl } from "../serve/freshness.ts";
import type { Asked, Found } from "../outcome.ts";
import type { World } from "../world.ts";
import { noSession } from "./data.ts";
import { pageForms } from "../serve/document.ts";

const FORMATS = {
  json: { path: UNCOUNTED_ROUTES.contracts.path, mediaType: JSON_TYPE, textOf: jsonText },
  csv: { path: UNCOUNTED_ROUTES.contractsCsv.path, mediaType: CSV_TYPE, textOf: csvOf },
} as const;

/** Answers from the catalog of the served snapshot, which snapshots of every version have. Made once for each. */
export function contractList(
  { live, pollMs, platform, turns }: Pick<World, "live" | "pollMs" | "platform" | "turns">,
  format: keyof typeof FORMATS,
) {
  const made = cacheOf<Forms>(2);
  const { path, mediaType, textOf } = FORMATS[format];
  return async (asked: Asked): Promise<Found | Denial> => {
    const served = live.current;
    if (served === null) return noSession(live, pollMs);
    const fault = asked.bodyFault() ?? faultsDenial(nameFaults(asked.query, []));
    if (fault !== null) return fault;
    const catalog = await served.catalog(NO_QUEUE);
    if (isDenial(catalog)) return catalog;
    const closes = await served.closes(NO_QUEUE);
    if (isDenial(closes)) return closes;
    const { stamp } = served;
    const place = turns.placeOf(path);
    const forms = await getOrMake(made, String(stamp.publication), place, () => {
      const body = utf8(textOf(bodyOf(catalog, closes, stamp.head)));
      return pageForms(platform, { path, mediaType, body }, stamp.publishedAtMs);
    });
    return { kind: "found", forms, cacheControl: cacheControl("private", stamp, asked.nowMs) };
  };
}

type Body = z.infer<typeof contracts>;

function bodyOf(
  catalog: readonly Contract[],
  closes: ReadonlyMap<string, CloseCounts>,
  head: Session,
): Body {
  const segmentIds = indexIdsOf(catalog);
  return {
    session_utc: sessionUtc(head),
    contracts: catalog.map((contract) => ({
      id: contract.id,
      ticker: contract.ticker,
      name: contract.name,
      board: contract.board,
      segment: contract.segment,
      segment_id: segmentIds.get(contract.segment) as string,
      unit: contract.unit,
      capacity_gb: contract.capacityGb === null ? null : Number(contract.capacityGb),
      price_type: contract.priceType,
      cadence_days: Number(contract.cadenceDays),
      source: contract.source,
      source_url: contract.sourceUrl,
      free: contract.free,
      formerly: [...contract.formerly],
      delisted_on: contract.delistedOn === null ? null : dateText(contract.delistedOn),
      closes: closes.get(contract.id) ?? {},
    })),
    segments: indicesOf(catalog)
      .filter(({ id }) => id !== COMPOSITE)
      .map(({ id, name, formerly, contracts: of }) => ({
        id,
        name,
        contracts: of.length,
        formerly: [...formerly],
      })),
  };
}

/** A row for each contract: its members, where members of `closes` have the tier before their names. */
function csvOf({ contracts: rows }: Body): string {
  const flat = rows.map(({ formerly, closes, ...row }) => ({
    ...row,
    formerly: formerly.join(" "),
    ...Object.fromEntries(
      Object.entries(closes).flatMap(([tier, { count, first_month }]) => [
        [`${tier}_closes`, count],
        [`${tier}_first_month`, first_month],
      ]),
    ),
  }));
  const cells = flat.map((row) =>
    Object.values(row).map((value) => {
      if (value === null) return null;
      return typeof value === "string" ? harmless(value) : JSON.stringify(value);
    }),
  );
  return csvText([Object.keys(flat[0] ?? {}), ...cells]);
}
