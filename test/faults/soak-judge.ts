/** Whether an answer was one of those promised to this caller, by this proxy, at this moment. */
import { same, type AnswerBook } from "./soak-answers.ts";
import type { Caller, Verdict } from "./soak-callers.ts";
import type { Received } from "./soak-client.ts";
import type { SoakProxy } from "./soak-proxy.ts";
import type { Route } from "./soak-routes.ts";

/** How things are for a caller at a proxy. What is on its way may be answered as before or after. */
export interface Standing {
  readonly verdicts: ReadonlySet<Verdict>;
  /** Whether the proxy has met the key. */
  readonly isKnown: boolean;
  readonly isDisturbed: boolean;
  readonly mayBeEmpty: boolean;
  readonly isStateAway: boolean;
}

export const standingOf = (
  proxy: SoakProxy,
  { verdicts, key }: Caller,
  isStateAway: boolean,
): Standing => ({
  verdicts: new Set(verdicts),
  isKnown: key === null || proxy.seen.has(key),
  isDisturbed: proxy.isDisturbed,
  mayBeEmpty: proxy.mayBeEmpty,
  isStateAway,
});

/** A question that was answered. */
export interface Exchange {
  readonly proxy: SoakProxy;
  readonly caller: Caller;
  readonly route: Route;
  /** The ETag that was sent along. */
  readonly etag: string | undefined;
  /** The publication that the proxy was known to serve when it was asked, or a later one. */
  readonly since: number;
  readonly before: Standing;
  readonly after: Standing;
  /** Other requests under way. */
  readonly underWay: number;
}

/** Throws where the answer is none of those promised. */
export async function judge(
  exchange: Exchange,
  received: Received,
  book: AnswerBook,
  nowMs: number,
): Promise<void> {
  const { proxy, caller, route, etag, since } = exchange;
  if (received.status === 304) return same(received.headers.etag, etag, "ETag of a 304");
  const code = codeOf(received);
  const verdicts = verdictsOf(exchange);
  if (code === null) {
    if (!verdicts.has("ok")) throw new Error(`200, expected ${[...verdicts].join(" or ")}`);
    same(code, route.refusal(caller.tier), "code");
    if (route.kind !== "usage") await book.check(received, route, caller.tier, since, nowMs);
    return;
  }
  if (await isPromised(code, exchange, book)) return;
  const log = received.status === 500 ? `\n${proxy.stderr}` : "";
  const what = `${received.status} ${code}, for ${[...verdicts].join(" or ")}`;
  throw new Error(`${what}: ${received.body.toString("utf8")}${log}`);
}

/** Whether a proxy that says this knows the key, and goes on with it while the state is away. */
export const isKnownBy = (code: string | null): boolean =>
  code !== "state_unavailable" && code !== "invalid_key";

/** The problem's code; null for an answer with data. */
export function codeOf({ status, body }: Received): string | null {
  if (status === 200 || status === 304) return null;
  try {
    return String((JSON.parse(body.toString("utf8")) as { code: unknown }).code);
  } catch {
    return "no problem document";
  }
}

async function isPromised(code: string, exchange: Exchange, book: AnswerBook): Promise<boolean> {
  const { caller, route, since, before, after, underWay } = exchange;
  const verdicts = verdictsOf(exchange);
  if (code === "state_unavailable") {
    return (before.isStateAway || after.isStateAway) && !before.isKnown;
  }
  if (isVerdict(code)) return verdicts.has(code);
  if (!verdicts.has("ok")) return false;
  if (code === route.refusal(caller.tier)) return true;
  if (code === "no_session") return before.mayBeEmpty || after.mayBeEmpty;
  if (code === "quota_exceeded") {
    const { answered, uncertain, limit } = caller.subject;
    return limit !== null && answered + uncertain + underWay >= limit;
  }
  if (code !== "not_on_board" || route.id === null) return false;
  return book.isOffBoard(route.id, caller.tier, since);
}

const verdictsOf = ({ before, after }: Exchange): ReadonlySet<Verdict> =>
  new Set([...before.verdicts, ...after.verdicts]);

const REFUSALS = ["invalid_key", "key_suspended", "trial_lapsed"];
const isVerdict = (code: string): code is Verdict => REFUSALS.includes(code);
