/** The calls of an account in the log of requests (`serve --log-requests all`): for disputes, which counts cannot settle. */
import { z } from "zod";
import { KEY_PREFIX, LINK_PREFIX } from "../lib/secrets.ts";
import { dayAt } from "../ports/month.ts";

/** A line of the log about a request of a caller with a key. Other lines, and lines of older programs, do not fit. */
const lineSchema = z.object({
  time: z.number(),
  account: z.string(),
  key: z.string(),
  route: z.string(),
  status: z.number(),
  calls: z.number(),
  msg: z.literal("request"),
});

/** The requests of one day UTC (`2026-11-21`) with one key, to one route, with one status. */
type LoggedCalls = {
  readonly day: string;
  readonly key: string;
  readonly route: string;
  readonly status: number;
  /** How many of them were counted. */
  readonly calls: number;
  /** How many there were: a 304 or a refusal costs no call. */
  readonly requests: number;
};

/**
 * Sums the lines of `account` in `month` (`2026-11`), sorted by day, key, route and status. Null: the log has no line
 * about a request without a problem, so it does not keep them.
 */
export async function readCallLog(
  lines: AsyncIterable<string>,
  account: string,
  month: string,
): Promise<readonly LoggedCalls[] | null> {
  const sums = new Map<string, LoggedCalls>();
  let isKept = false;
  for await (const line of lines) {
    const found = lineSchema.safeParse(jsonIn(line));
    if (!found.success) continue;
    const { time, route, status, calls } = found.data;
    isKept ||= status < 400;
    const day = dayAt(time);
    if (found.data.account !== account || !day.startsWith(month)) continue;
    // The log leaves out the prefix of keys' ids, and has the prefix of links'.
    const key = found.data.key.startsWith(LINK_PREFIX)
      ? found.data.key
      : `${KEY_PREFIX}${found.data.key}`;
    const name = [day, key, route, String(status).padStart(3, "0")].join("\n");
    const sum = sums.get(name) ?? { day, key, route, status, calls: 0, requests: 0 };
    sums.set(name, { ...sum, calls: sum.calls + calls, requests: sum.requests + 1 });
  }
  if (!isKept) return null;
  return [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** Null: the line is no JSON, such as one of systemd. */
function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
