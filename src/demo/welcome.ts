import type { KeyTierName } from "../market/tier.ts";
import { DEMO_NOTICE } from "./notice.ts";

/** What `demo` prints once it serves: where to look, and lines to paste. */
export const welcome = (url: string, keys: Record<KeyTierName, string>, store: string): string => `
${DEMO_NOTICE}

Documentation   ${url}/
Snapshots       ${store}

Without a key: ten contracts, one session behind
  curl -s ${url}/api/public/v1/prices

Starter: all contracts, one session behind, 90 days of history, the index, CSV
  curl -s -H "x-api-key: ${keys.starter}" ${url}/api/public/v1/prices/ddr5-16gb-spot
  curl -s -H "x-api-key: ${keys.starter}" ${url}/api/public/v1/index
  curl -s -H "x-api-key: ${keys.starter}" ${url}/api/public/v1/export.csv

Pro: the live session, five years of history, baskets, CSV and Excel
  curl -s -H "Authorization: Bearer ${keys.pro}" ${url}/api/public/v1/prices
  curl -s -H "Authorization: Bearer ${keys.pro}" "${url}/api/public/v1/index?ids=ddr5-16gb-spot,hbm3e-12h-36gb&weights=60,40"
  curl -s -H "Authorization: Bearer ${keys.pro}" -OJ ${url}/api/public/v1/export.xlsx
  curl -s -H "Authorization: Bearer ${keys.pro}" ${url}/api/public/v1/usage

The keys are shown once; every start makes new ones. Stop with Ctrl+C.
listening on ${url}`;
