/** `/contracts`: what the catalog says of contracts and segments. It is public, and has neither levels nor their dates. */
import type { z } from "zod";
import { madeOnce } from "../../lib/caches.ts";
import { jsonText } from "../../lib/json.ts";
import { NO_QUEUE } from "../../lib/turns.ts";
import type { Contract } from "../../market/contract.ts";
import { COMPOSITE, indexIdsOf, indicesOf } from "../../market/indices.ts";
import { dateText, sessionUtc, type Session } from "../../market/session.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import type { contracts } from "../../api/answer-schemas.ts";
import type { Denial } from "../../api/problems.ts";
import { faultsDenial, nameFaults } from "../../api/query.ts";
import { UNCOUNTED_ROUTES } from "../../api/uncounted-routes.ts";
import type { Forms } from "../serve/entity.ts";
import { cacheControl } from "../serve/freshness.ts";
import type { Asked, Found } from "./answer.ts";
import { noSession, type DataSources } from "./data.ts";
import { pageForms } from "./pages/page-frame.ts";

/** Answers from the catalog of the served snapshot, which snapshots of every version have. Made once for each. */
export function contractList({ live, pollMs }: Pick<DataSources, "live" | "pollMs">) {
  const made = madeOnce<Forms>(2);
  return async (asked: Asked): Promise<Found | Denial> => {
    const served = live.current;
    if (served === null) return noSession(live, pollMs);
    const fault = asked.bodyFault() ?? faultsDenial(nameFaults(asked.query, []));
    if (fault !== null) return fault;
    const catalog = await served.catalog(NO_QUEUE);
    if ("code" in catalog) return catalog;
    const { stamp } = served;
    const { path } = UNCOUNTED_ROUTES.contracts;
    const forms = await made.forceFetch(String(stamp.publication), {
      context: () => {
        const body = Buffer.from(jsonText(bodyOf(catalog, stamp.head)));
        return pageForms({ path, mediaType: JSON_TYPE, body }, stamp.publishedAtMs);
      },
    });
    return { forms, cacheControl: cacheControl("private", stamp, asked.nowMs) };
  };
}

type Body = z.infer<typeof contracts>;

function bodyOf(catalog: readonly Contract[], head: Session): Body {
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
    })),
    segments: indicesOf(catalog)
      .filter(({ id }) => id !== COMPOSITE)
      .map(({ id, name, contracts: of }) => ({ id, name, contracts: of.length })),
  };
}
