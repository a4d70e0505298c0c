/** Counts and logs what the core tells. Neither metrics nor log holds a path, a query or a key as sent. */
import { KEY_PREFIX } from "../../lib/secrets.ts";
import type { Observer } from "../../ports/observer.ts";
import { shortened } from "../../core/client-address.ts";
import type { ProxyMetrics } from "./metrics.ts";
import type { Logger } from "./request-log.ts";

export const observerOf = ({ requests }: ProxyMetrics, logger: Logger): Observer => ({
  answered: ({ method, route, status, code, tier, address, requestId, arrivedMs, ...caller }) => {
    const durationMs = performance.now() - arrivedMs;
    requests.observe(route, tier, status, durationMs);
    if (!logger.wantsRequest(code)) return;
    const { account, calls } = caller;
    // The log can be searched for what begins as keys do: it must find nothing.
    const key = caller.key?.replace(KEY_PREFIX, "") ?? null;
    const whose = { account, key, calls, tier, from: shortened(address), request_id: requestId };
    logger.request({ method, route, status, code, ...whose, durationMs });
  },
  failed: (error, route, requestId, what) =>
    logger.error({ err: error, route, request_id: requestId }, what),
});
