/** The text that the demonstration prints at its start. */
import { KEY_TIER_NAMES, type KeyTierName } from "../market/tier.ts";
import { DEMO_NOTICE } from "./notice.ts";

/** Where the demonstration is. */
interface Places {
  readonly url: string;
  /** Null: no metrics. */
  readonly metricsUrl: string | null;
  /** Of the tools for agents. */
  readonly toolsUrl: string;
  readonly session: string;
  readonly report: string;
  readonly store: string;
}

/** The text of `demo` once it serves: addresses, and commands to paste. */
export const welcome = (
  { url, metricsUrl, toolsUrl, session, report, store }: Places,
  keys: Record<KeyTierName, string>,
): string => `
${DEMO_NOTICE}

Market          ${url}/   (paste a key below to see all contracts)
Guide           ${url}/guide
Reference       ${url}/docs
Tools           ${toolsUrl}   (for agents, by the Model Context Protocol)
Session         ${session}   (a line below names each later one when it is published)
Report          ${report}
Metrics         ${metricsUrl ?? "off"}
Snapshots       ${store}

Without a key: ten contracts, one session behind Pro
  curl -s ${url}/api/public/v1/prices

${KEY_TIER_NAMES.map((tier) => LINES[tier](url, keys[tier])).join("\n\n")}

The keys are shown only now; every start creates new ones. Stop with Ctrl+C.
listening on ${url}`;

/** The data of each tier in a line, and commands that use its key. */
const LINES: { readonly [T in KeyTierName]: (url: string, key: string) => string } = {
  starter: (
    url,
    key,
  ) => `Starter: all contracts, one session behind Pro, 90 days of history, the index, CSV
  curl -s -H "x-api-key: ${key}" ${url}/api/public/v1/prices/ddr5-16gb-spot
  curl -s -H "x-api-key: ${key}" ${url}/api/public/v1/index
  curl -s -H "x-api-key: ${key}" ${url}/api/public/v1/export.csv`,
  pro: (url, key) => `Pro: the newest session, five years of history, baskets, CSV and Excel
  curl -s -H "Authorization: Bearer ${key}" ${url}/api/public/v1/prices
  curl -s -H "Authorization: Bearer ${key}" "${url}/api/public/v1/index?ids=ddr5-16gb-spot,hbm3e-12h-36gb&weights=60,40"
  curl -s -H "Authorization: Bearer ${key}" -OJ ${url}/api/public/v1/export.xlsx
  curl -s -H "Authorization: Bearer ${key}" ${url}/api/public/v1/usage`,
};
