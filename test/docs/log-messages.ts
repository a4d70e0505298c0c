/** The messages of the proxy's log: where the sources write them, and their meaning. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** By the text in the log, with `N` for a part that varies: the event, and what to do about it. */
const MEANINGS: Readonly<Record<string, readonly [meaning: string, remedy: string]>> = {
  "and N more requests with a problem": [
    "within one second, beyond the 50 that have lines of their own",
    "",
  ],
  "N lines were dropped": [
    "lines of this log could not be written",
    "check the disk, or the reader of the pipe",
  ],
  "metrics are served now": ["the port of the metrics is free again", ""],
  "no metrics: their port is in use": [
    "another program has `--metrics-port`; the proxy serves callers, and tries again every 5 seconds",
    "end the other program (`ss -ltnp`), or choose another `--metrics-port`",
  ],
  "nothing is published there yet": ["the store has no log", "publish, or name another `--store`"],
  "old snapshot cannot be read": [
    "the caller got 503 `busy`",
    "check the store; run `chipboard snapshots verify --all`",
  ],
  "only signed entries are served": ["the proxy was started with `--verify-key`", ""],
  "the store is lost": [
    "it lacks what the state remembers of it; `err` says what",
    "see [Only the snapshots are lost](../operate/backup.md#only-the-snapshots-are-lost)",
  ],
  "publication log cannot be read": [
    "the proxy goes on with its snapshot and tries again; `err` says why",
    "`damaged`: run `chipboard snapshots verify`; otherwise check the store",
  ],
  "publication N cannot be loaded": [
    "it is damaged, or the store does not answer; callers get the publication in `serving`",
    "run `chipboard snapshots verify`, then restore or roll back",
  ],
  "Redis keeps everything again": ["its `maxmemory-policy` is `noeviction`", ""],
  "Redis may drop accounts, keys and counts": [
    "its `maxmemory-policy` is `policy`; a proxy that starts now refuses it (5)",
    "set `maxmemory-policy` to `noeviction`; restore lost keys from a backup",
  ],
  "request cannot be handled": ["it failed before the proxy's own checks", "report it"],
  "request failed": ["the caller got 500; `err` has the stack", "report it"],
  "SIGHUP: new connections get this certificate": ["", ""],
  "SIGHUP: the certificate cannot be used; the old one stays in use": [
    "`trouble` says why",
    "correct the files and send SIGHUP again",
  ],
  "SIGHUP ignored: no --tls-cert configured": ["the proxy runs without `--tls-cert`", ""],
  "snapshot switched": ["callers get this publication from now on", ""],
  "store answers again": ["", ""],
  "stored file cannot be sent": [
    "a file that is streamed is damaged, or the store does not answer; the answer was cut off",
    "`chipboard snapshots verify --all`",
  ],
  "systemd cannot be told that the proxy is ready": [
    "the unit waits for it, and goes on starting",
    "install systemd's `systemd-notify`",
  ],
  "the store gives no snapshot yet": [
    "five seconds after its start the proxy still has no snapshot; it answers data requests with 503 and retries",
    "check the store",
  ],
  "the state answers again": ["the proxy has written the counts of the outage", ""],
  "the state does not answer; calls of known keys are counted here": [
    "other keys get 503 until the state answers",
    "check Redis, or the state's folder",
  ],
  "the state takes no writes; calls are counted here until it does": [
    "the memory or the disk of the state is full, it has too few replicas, or its user may not write; all keys work",
    "`chipboard doctor`, then make room before you restart the proxy",
  ],
  "the state takes writes again": ["the proxy has written the counts that it kept", ""],
  "too many connections": [
    "the proxy closes further connections at once",
    "find their clients, or raise `--max-connections`",
  ],
  "too many connections from one address or network; behind a proxy of your own set --trust-proxy":
    [
      "the proxy closes further connections of the addresses in `from` at once; `why` says whether they are of one address, of one IPv6 /56, or only the places are left that are kept for others",
      "if `from` is not your own proxy, block it by firewall, or raise `--max-connections-per-address`",
    ],
};

/** A message and its level. */
interface Message {
  readonly text: string;
  readonly level: string;
}

const SOURCE = join(import.meta.dirname, "../../src");
/** A call that writes a line, or that hands one on with its text as the last argument. */
const CALL =
  /\b(?:log|logger)\.(info|warn|error)\(|\b(info)\(\{|\bform\("(warn)",|#(report)\(|\bobserver\.(failed)\(/g;

/** Every message that the sources of the proxy write. Throws if one has no meaning, or the reverse. */
export function logMessages(): readonly (Message & { meaning: string; remedy: string })[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) =>
    /^(?:core|served|hosts|commands)\/.*\.ts$/.test(name),
  );
  const found = new Map<string, string>();
  for (const file of files) {
    const source = readFileSync(join(SOURCE, file), "utf8");
    for (const call of source.matchAll(CALL)) {
      const [, byLogger, byInfo, byEvent, byReport, byCore] = call;
      const text = lastArgument(source, call.index);
      const level =
        byLogger ?? byInfo ?? byEvent ?? ((byReport ?? byCore) === undefined ? "" : "error");
      if (text !== null) found.set(text, level);
    }
  }
  const unknown = [...found.keys()].filter((text) => MEANINGS[text] === undefined);
  const unused = Object.keys(MEANINGS).filter((text) => !found.has(text));
  if (unknown.length + unused.length > 0) {
    throw new Error(
      `test/docs/log-messages.ts lacks ${JSON.stringify(unknown)}, and has ${JSON.stringify(unused)}, which no source writes`,
    );
  }
  return [...found]
    .toSorted(([a], [b]) => a.localeCompare(b, "en"))
    .map(([text, level]) => {
      const [meaning = "", remedy = ""] = MEANINGS[text] ?? [];
      return { text, level, meaning, remedy };
    });
}

/** The text of the call's last argument; null if that is a parameter, which another call gives. */
function lastArgument(source: string, from: number): string | null {
  const begin = source.indexOf("(", from);
  let depth = 0;
  let end = begin;
  do {
    const [skipped = ""] = /^(?:"(?:[^"\\]|\\.)*"|`[^`]*`)/.exec(source.slice(end)) ?? [];
    if (skipped !== "") {
      end += skipped.length;
      continue;
    }
    if ("([{".includes(source[end] as string)) depth += 1;
    if (")]}".includes(source[end] as string)) depth -= 1;
    end += 1;
  } while (depth > 0);
  const given = source.slice(begin + 1, end - 1).trim();
  const [, quoted, name] = /(?:(".*"|`[^`]*`)|\b(\w+)),?$/.exec(given) ?? [];
  const text = quoted ?? new RegExp(`const ${name} =\\s*(".*");`).exec(source)?.[1];
  return text === undefined ? null : text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, "N");
}
