/**
 * Makes the second half of ARCHITECTURE.md: the layers with their imports, and a line for each source file
 * from its first comment. `write-reference.ts` writes it, `reference.test.ts` compares it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { ROOT, textOf } from "./documents.ts";

const SOURCE = join(ROOT, "src");
const END_OF_PROSE = "<!-- From here on, `npm run regenerate` makes this page. -->\n";

/** The rooms of src, which form no circle (types, also those that comments of JavaScript import, included), in the order in which data passes them, then those that use them, with their subjects. */
const ROOMS: Readonly<Record<string, string>> = {
  lib: "code that several rooms share: clock, options, errors, texts, requests to other servers",
  market: "the mathematics: sessions, tiers, changes, history, indices; no I/O",
  store: "a flat map from key to immutable bytes: folder, S3; the names of keys",
  snapshot: "the form of a snapshot, and the log with its chain and signatures",
  feed: "reads CSV, JSON and NDJSON, and collects every complaint; the gates",
  ledger: "every level that a feed gave, in files by month and content; the inputs, as they came",
  render: "turns the views of the market into the bytes of files",
  site: "files for browsers: pages, style sheets, plain JavaScript that tsc checks",
  publish: "plans a snapshot, passes the gates, writes, commits",
  desk: "the operator's commands on snapshots",
  state: "accounts, keys, and counts of calls: SQLite, Redis, objects of a Worker",
  ports: "interfaces between the core and its hosts: store, state, accounts, platform, observer",
  core: "the function from a request to an answer: no socket, file, timer or environment",
  served: "snapshots and log as the core reads them: verified, kept, followed",
  pages: "pages for people, made of what the core finds",
  hosts:
    "where the core runs: sockets, TLS, connections, metrics and log of Node; a Worker; a site of files",
  docs: "makes the documents that the proxy sends: guide, methodology, reference, OpenAPI, changelog; it runs before a release",
  public:
    "the public interface as tables: addresses, parameters, problems, schemas, tiers in words",
  check: "proves an answer and the log behind it, over HTTP only",
  doctor: "looks over a whole service, by the code that the other commands run",
  mcp: "tools for agents, over the public API only",
  demo: "the demonstration market",
  commands: "turns options into one call of another room; no logic",
};

const names = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(?:ts|js|css|py)$/.test(name))
  .toSorted();

/** The page with its second half made anew. */
export function architecturePage(): string {
  const [prose] = textOf("ARCHITECTURE.md").split(END_OF_PROSE);
  return `${prose}${END_OF_PROSE}\n${layers()}\n\n${files()}\n`;
}

/** The first sentence of a file's first comment, without a full stop; empty: it begins with none. */
export function subjectOf(text: string): string {
  const [, comment = ""] = /^(?:\/\*\*?|""")(.*?)(?:\*\/|""")/s.exec(text) ?? [];
  const [paragraph = ""] = comment
    .replaceAll(/^ *\*(?: |$)/gm, "")
    .trim()
    .split("\n\n");
  return paragraph.replaceAll(/\s+/g, " ").replace(/(?:\. .*|[.:])$/, "");
}

function layers(): string {
  const imported = new Map(Object.keys(ROOMS).map((room) => [room, new Set<string>()]));
  for (const name of names.filter((path) => path.includes("/"))) {
    const [room = ""] = name.split("/", 1);
    const others = imported.get(room);
    if (others === undefined) throw new Error(`ROOMS lacks the subject of src/${room}`);
    const text = readFileSync(join(SOURCE, name), "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from|import)\s*\(?"(\.[^"]*)"/g)) {
      const [other = ""] = relative(SOURCE, join(SOURCE, dirname(name), path)).split("/", 1);
      if (other !== room && imported.has(other)) others.add(other);
    }
  }
  for (const room of imported.keys()) {
    if (reachedFrom(room, imported).has(room))
      throw new Error(`src/${room} is in a circle of imports`);
  }
  const rows = [...imported].map(([room, others]) => {
    const list = [...others].toSorted().map((other) => `\`${other}\``);
    return `| \`${room}\` | ${ROOMS[room]} | ${list.join(", ")} |`;
  });
  return ["## Layers", "", "| `src/` | subject | imports |", "| --- | --- | --- |", ...rows].join(
    "\n",
  );
}

/** The rooms that a room imports, by whatever way. */
function reachedFrom(
  room: string,
  imported: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const reached = new Set(imported.get(room));
  for (const each of reached) for (const other of imported.get(each) ?? []) reached.add(other);
  return reached;
}

/** Every source file with its subject, by folder. */
function files(): string {
  const byFolder = Map.groupBy(names, (name) => dirname(join("src", name)));
  const sections = [...byFolder]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, all]) => {
      const lines = all.map((name) => {
        const subject = subjectOf(readFileSync(join(SOURCE, name), "utf8"));
        if (subject === "") throw new Error(`src/${name} does not begin with its subject`);
        return `- \`${name.split("/").at(-1)}\`: ${subject}`;
      });
      return `### \`${folder}\`\n\n${lines.join("\n")}`;
    });
  return `## Files\n\n${sections.join("\n\n")}`;
}
