/** Many connections, each with a header that is never completed. */
import { setTimeout as delay } from "node:timers/promises";
import { residentMb } from "../bench/server-process.ts";
import { Visitor } from "../../test/http/crowd.ts";
import type { Serving } from "../../test/program/program.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const HEADER_BYTES = 15_000;
const OPENED_AT_ONCE = 50;
/** Limit of the proxy's resident memory. */
const RESIDENT_MB_MAX = 300;

/** All of them must be refused within `limitMs`. */
export async function unfinishedHeaders(
  proxy: Serving,
  connections: number,
  limitMs: number,
  say: FaultOptions["say"],
): Promise<FaultRow> {
  const tally = new Tally("connections with unfinished headers", say);
  const visitors: Visitor[] = [];
  const header = `GET / HTTP/1.1\r\nHost: x\r\nX-Held: `.padEnd(HEADER_BYTES, "h");
  try {
    while (visitors.length < connections) {
      const some = Array.from({ length: OPENED_AT_ONCE }, () => Visitor.at(proxy.url));
      visitors.push(...(await Promise.all(some)).map((visitor) => visitor.send(header)));
    }
    await tally.inject("an ordinary caller is answered", async () => {
      const { status } = await fetch(`${proxy.url}/healthz`);
      if (status !== 200) throw new Error(`/healthz answers ${status}`);
    });
    const held = residentMb(proxy.pid).now;
    say(`${Math.round(held)} MB resident with ${connections} unfinished headers`);
    await tally.inject("the proxy uses less than 300 MB", () => {
      if (held > RESIDENT_MB_MAX) throw new Error(`${held} MB resident`);
    });
    const timeout = new AbortController();
    const late = delay(limitMs, undefined, { signal: timeout.signal }).catch(() => {});
    await Promise.race([Promise.all(visitors.map(({ closed }) => closed)), late]);
    timeout.abort();
    const wrong = visitors.filter(({ isClosed, statuses }) => !isClosed || statuses[0] !== 408);
    tally.note(connections, wrong.length, "not answered with 408, or still connected");
  } finally {
    for (const visitor of visitors) visitor.leave();
  }
  return tally.row;
}
