/** The Worker that answers requests, with the classes of its objects. */
import { waitUntil } from "cloudflare:workers";
import { utf8 } from "../../lib/bytes.ts";
import { createClock } from "../../lib/clock.ts";
import { InputError } from "../../lib/errors.ts";
import { isLoopback } from "../../lib/key-address.ts";
import { parsePlanTerms } from "../../pages/plan-terms.ts";
import { parseVerifyKeys } from "../../snapshot/signing-key.ts";
import type { Bucket } from "./bindings.ts";
import { EdgeAccounts } from "./edge-accounts.ts";
import { edgeHost, type EdgeHost } from "./host.ts";
import { callBy, type StateBindings } from "./object-door.ts";
import { R2Store } from "./r2-store.ts";

export { CallsObject } from "./calls-object.ts";
export { RegistryObject } from "./registry-object.ts";

/** The bindings and variables of the Worker; deploy/edge/wrangler.json names them. */
export interface Environment extends StateBindings {
  readonly SNAPSHOTS: Bucket;
  /** The folder in the bucket; without one the bucket is the store. */
  readonly PREFIX?: string;
  /** See --public-url, --poll and --grace (seconds), --plans (its JSON) and --verify-key (its PEM) of `serve`. */
  readonly PUBLIC_URL?: string;
  readonly POLL_SECONDS?: string;
  readonly GRACE_SECONDS?: string;
  readonly PLANS?: string;
  readonly VERIFY_KEY?: string;
  /** See CHIPBOARD_NOW. */
  readonly CHIPBOARD_NOW?: string;
}

const POLL_SECONDS = 2;
const GRACE_SECONDS = 3_600;

/**
 * Makes the host of an isolate for its first request, which arrived at `origin`. Without PUBLIC_URL this address would stand
 * in feed and pages for everybody, and a caller can choose it (http in the place of https, another host). So only an
 * address of this machine can do without. Throws InputError.
 */
export function hostOf(
  environment: Environment,
  origin: string,
  clock = createClock(environment.CHIPBOARD_NOW),
): EdgeHost {
  if (environment.PUBLIC_URL === undefined && !isLoopback(new URL(origin).hostname)) {
    throw new InputError(
      "PUBLIC_URL is missing: name the address of the service in wrangler.json, such as https://prices.example",
    );
  }
  const { SNAPSHOTS, PREFIX = "", PUBLIC_URL, PLANS, VERIFY_KEY } = environment;
  const { POLL_SECONDS: poll, GRACE_SECONDS: grace } = environment;
  return edgeHost({
    store: new R2Store(SNAPSHOTS, PREFIX),
    accounts: new EdgeAccounts(callBy(environment), clock, waitUntil),
    clock,
    publicUrl: PUBLIC_URL ?? null,
    origin: PUBLIC_URL ?? origin,
    plans: PLANS === undefined ? undefined : parsePlanTerms(utf8(PLANS), "PLANS"),
    verifyKeys: VERIFY_KEY === undefined ? null : parseVerifyKeys(VERIFY_KEY, "VERIFY_KEY"),
    pollMs: Number(poll ?? POLL_SECONDS) * 1_000,
    graceMs: Number(grace ?? GRACE_SECONDS) * 1_000,
    goOn: waitUntil,
  });
}

let host: EdgeHost | null = null;

export default {
  async fetch(request: Request, environment: Environment): Promise<Response> {
    host ??= hostOf(environment, new URL(request.url).origin);
    await host.refresh();
    return host.app.fetch(request);
  },
};
