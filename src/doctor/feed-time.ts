/** The time by the server of the feed. Both publish and doctor compare the machine's clock with it. */
import { parseServerTime, type ServerTime } from "../lib/clock.ts";
import { ChipboardError } from "../lib/errors.ts";
import { agentFor, get } from "../lib/http-get.ts";
import { orFailure } from "./checks.ts";

const PATIENCE_MS = 5_000;

/**
 * Asks for nothing but the header of the server's first page, because a feed may count its calls. Null: `feed` is no
 * http(s) address, or no time comes.
 */
export async function askTime(feed: string): Promise<ServerTime | null> {
  if (!/^https?:\/\//i.test(feed) || !URL.canParse(feed)) return null;
  const { origin } = new URL(feed);
  const asked = { method: "HEAD", headers: {}, maxBytes: 0, timeoutMs: PATIENCE_MS } as const;
  const answer = await orFailure(async () => {
    const agent = agentFor(origin, 1);
    try {
      return await get(`${origin}/`, { ...asked, agent });
    } finally {
      agent.destroy();
    }
  });
  return answer instanceof ChipboardError ? null : parseServerTime(origin, answer.headers);
}
