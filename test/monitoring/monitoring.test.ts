/**
 * The files of deploy/monitoring against real proxies: one is well, three have all the troubles that
 * the alerts are about, and one is not there. A real Prometheus scrapes them.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test as everyTest } from "vitest";
import { createState } from "../../src/state/open.ts";
import { API, chipboard, killed, market, serve, until } from "../cluster/cluster-fixture.ts";
import { anchorsOf, PAGES } from "../docs/documents.ts";
import { certificate } from "../http/certificate.ts";
import type { Serving } from "../program/program.ts";
import { testWithService } from "../services/service-programs.ts";
import { FILES, Prometheus, type Alert, type Sample } from "./prometheus.ts";

const run = promisify(execFile);
/** Nothing listens there. */
const ABSENT = "127.0.0.1:1";
/** No proxy here is slow, and no feed stands still. */
const SILENT = [
  "ChipboardSlow",
  "ChipboardFeedUnchanged",
  "ChipboardContractsStill",
  "ChipboardContractsCarried",
  // lost-store.test.ts has a store that is lost.
  "ChipboardStoreLost",
  // state-redis.test.ts has a Redis that begins to drop keys.
  "ChipboardStateEvicts",
  // And one that takes no writes.
  "ChipboardStateReadonly",
];

const test = testWithService("prometheus");

describe("the rules", () => {
  test("are well-formed, also the configuration", async () => {
    await run("promtool", ["check", "config", join(FILES, "prometheus.yml")]);
  });

  test("each alert fires when it must, and not before", async () => {
    const tests = join(import.meta.dirname, "alerts.yml");
    await run("promtool", ["test", "rules", tests]);
    const tested = await readFile(tests, "utf8");
    const rules = await readFile(join(FILES, "alerts.yml"), "utf8");
    for (const [, name] of rules.matchAll(/- alert: (\w+)/g)) {
      expect(tested).toContain(`alertname="${name}"`);
    }
  });

  everyTest("each alert names a page of the release, and a heading on it", async () => {
    const rules = await readFile(join(FILES, "alerts.yml"), "utf8");
    const alerts = rules.split(/^      - alert: /m).slice(1);
    expect(alerts.length).toBeGreaterThan(15);
    for (const alert of alerts) {
      const [, page = "", anchor = ""] =
        /^ {10}runbook_url: file:\/\/\/opt\/chipboard\/current\/(docs\/\S+\.md)#(\S+)$/m.exec(
          alert,
        ) ?? [];
      expect(PAGES, alert).toContain(page);
      expect(anchorsOf(page), alert).toContain(anchor);
    }
  });
});

describe("a Prometheus that scrapes real proxies", () => {
  let folder: string;
  let prometheus: Prometheus;
  const servings: Serving[] = [];
  const sockets: Socket[] = [];
  /** The proxies by name, with the address of their metrics. */
  const instances = { well: "", early: "", late: "", poor: "" };
  /** In place of a node_exporter: two disks, and what deploy/watched wrote. */
  let exporter: Server;
  let node: string;
  let late: Serving;
  let poor: Serving;
  let key: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-monitoring-"));
    const catalog = await written("catalog.csv", market.catalog);
    const publish = async (store: string, now: string, quotes: string, ...args: string[]) => {
      const feeds = ["--quotes", await written("quotes.csv", quotes), "--store", place(store)];
      const { code } = await chipboard(["publish", ...feeds, ...args], { CHIPBOARD_NOW: now });
      expect(code).toBe(0);
    };
    // At the real time: Prometheus compares it with the time of the publication.
    await publish("well", "", market.quotes(""), "--catalog", catalog);
    await publish("late", "2026-01-05T00:05:00Z", market.quotes(""), "--catalog", catalog);
    await publish(
      "late",
      "2026-01-05T12:05:00Z",
      market.quotes("", 3),
      "--accept-moves",
      "--max-board-move",
      "1000000",
    );
    await mkdir(place("poor"));

    const well = await proxy("well", "");
    const { cert, key: ownKey } = await certificate(folder, 13);
    const tls = ["--tls-cert", cert, "--tls-key", ownKey];
    const early = await proxy("early", "2026-01-05T00:05:00Z", "--store", place("well"), ...tls);
    const state = ["--state", place("late-state")];
    await chipboard(["accounts", "add", "acme", "--tier", "pro", ...state]);
    key = JSON.parse((await chipboard(["keys", "create", "acme", ...state, "--json"])).stdout).key;
    late = await proxy("late", "2026-01-07T00:05:00Z", "--cache-mb", "0");
    const lost = ["--state", place("poor-state")];
    await chipboard(["accounts", "add", "lost", "--tier", "pro", ...lost]);
    poor = await proxy("poor", "", "--max-connections", "2");
    instances.well = new URL(well.metricsUrl as string).host;
    instances.early = new URL(early.metricsUrl as string).host;
    instances.late = new URL(late.metricsUrl as string).host;
    instances.poor = new URL(poor.metricsUrl as string).host;
    await mkdir(place("prometheus"));
    const targets = [...Object.values(instances), ABSENT];
    exporter = await startExporter();
    const { port } = exporter.address() as AddressInfo;
    node = `127.0.0.1:${port}`;
    prometheus = await Prometheus.start(place("prometheus"), targets, node);
    await fetch(`${late.url}${API}/history.csv`);
    await until(async () => (await prometheus.query("up == 1")).length === 5);
    await until(
      async () => (await prometheus.query(`chipboard_requests_total{status="401"}`)).length > 0,
    );
    await makeTrouble();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await prometheus?.stop();
    exporter?.close();
    await killed(servings);
    await rm(folder, { recursive: true, force: true });
  });

  const place = (name: string): string => join(folder, name);
  const written = async (name: string, text: string): Promise<string> => {
    await writeFile(place(name), text);
    return place(name);
  };

  async function proxy(name: string, now: string, ...args: string[]): Promise<Serving> {
    const places = ["--store", place(name), "--state", place(`${name}-state`)];
    const options = [...places, "--poll", "100ms", "--metrics-port", "0", ...args];
    await createState(place(`${name}-state`));
    const serving = await serve(options, { CHIPBOARD_NOW: now });
    servings.push(serving);
    return serving;
  }

  async function startExporter(): Promise<Server> {
    for (const [name, ended] of [
      ["publish", "false"],
      ["backup", "true"],
    ] as const) {
      await run(join(FILES, "../watched"), [place(`${name}.prom`), ended]).catch(() => undefined);
    }
    const disk = (mount: string, free: number) =>
      `node_filesystem_avail_bytes{mountpoint="${mount}",fstype="ext4"} ${free}\n` +
      `node_filesystem_size_bytes{mountpoint="${mount}",fstype="ext4"} 100\n`;
    const server = createServer(async (_, response) => {
      const files = ["publish", "backup"].map((name) => readFile(place(`${name}.prom`), "utf8"));
      const [publish = "", backup = ""] = await Promise.all(files);
      // node_exporter gives each metric once, with all its values.
      const samples = backup.replaceAll(/^#.*\n/gm, "");
      response.setHeader("content-type", "text/plain; version=0.0.4");
      response.end(disk("/", 9) + disk("/home", 11) + publish + samples);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  }

  /** After the first scrape, because an alert about a counter needs two values of it. */
  async function makeTrouble(): Promise<void> {
    await askLate("/prices");
    // Without a key.
    for (let count = 0; count < 500; count += 1) await fetch(`${late.url}${API}/history.csv`);
    await rm(join(place("late"), "sessions/2026-01-05T12Z/r1/pro/export.xlsx"));
    await rename(place("late-state"), place("late-state-away"));
    await rm(join(place("late"), "publications/0000000002.json"));
    await rm(place("poor"), { recursive: true });
    await writeFile(place("poor"), "no folder");
    poor.child.stderr?.destroy();
    await chipboard(["accounts", "rm", "lost", "--yes", "--state", place("poor-state")]);
  }

  const askLate = (path: string): Promise<Response> =>
    fetch(`${late.url}${API}${path}`, { headers: { "x-api-key": key } });

  /** Requests that the alerts about counters need again and again. */
  async function ask(): Promise<void> {
    await askLate("/prices");
    expect((await askLate("/export.xlsx")).status).toBe(500);
    await fetch(`${poor.url}/nothing`, { headers: { connection: "close" } }).catch(() => undefined);
    for (const socket of sockets.splice(0)) socket.destroy();
    for (let more = 0; more < 4; more += 1) {
      sockets.push(connect(poor.port, "127.0.0.1").on("error", () => undefined));
    }
  }

  /** What the query finds; it asks the proxies until there is something. */
  async function found(query: string): Promise<Sample[]> {
    let samples = await prometheus.query(query);
    await until(async () => {
      if (samples.length > 0) return true;
      await ask();
      samples = await prometheus.query(query);
      return false;
    }).catch(() => undefined);
    return samples;
  }

  /** The names of the alerts by instance. A busy machine may be slow, which no test judges. */
  const byInstance = (alerts: readonly Alert[]): Record<string, string[]> => {
    const names: Record<string, string[]> = {};
    for (const { labels } of alerts) {
      if (labels["alertname"] === "ChipboardSlow") continue;
      (names[labels["instance"] as string] ??= []).push(labels["alertname"] as string);
    }
    for (const all of Object.values(names)) all.sort();
    return names;
  };

  test("promtool has nothing to say about names and types of the metrics", async () => {
    const text = await (await fetch(late.metricsUrl as string)).text();
    const checked = run("promtool", ["check", "metrics"]);
    checked.child.stdin?.end(text);
    expect(await checked).toEqual({ stdout: "", stderr: "" });
  });

  test("the reference names each of chipboard's metrics, and no other", async () => {
    const text = await (await fetch(late.metricsUrl as string)).text();
    const names = [...text.matchAll(/^# TYPE (chipboard_\w+)/gm)].map(([, name]) => name);
    const page = await readFile(join(FILES, "../../docs/reference/metrics.md"), "utf8");
    const rows = [...page.matchAll(/^\| (`chipboard_.*?) \|/gm)].flatMap(([, row = ""]) => [
      ...row.matchAll(/`(\w+)`/g),
    ]);
    expect(rows.map(([, name]) => name).toSorted()).toEqual(names.toSorted());
  });

  test("each alert is raised for the proxies in trouble, and for no other", async () => {
    const expected = {
      [ABSENT]: ["ChipboardDown"],
      [node]: ["ChipboardDiskFull", "ChipboardJobFailed", "ChipboardJobLate"],
      [instances.early]: [
        "ChipboardCertificateEnds",
        "ChipboardClockBehind",
        "ChipboardClockWrong",
      ],
      [instances.late]: [
        "ChipboardClockWrong",
        "ChipboardErrors",
        "ChipboardJudgement",
        "ChipboardNoPublish",
        "ChipboardRefusals",
        "ChipboardSessionOverdue",
        "ChipboardSnapshotDamaged",
        "ChipboardStateDown",
      ],
      [instances.poor]: [
        "ChipboardAccountsLost",
        "ChipboardConnectionsRefused",
        "ChipboardLogLinesDropped",
        "ChipboardNoSnapshot",
        "ChipboardStoreUnreachable",
      ],
    };
    let alerts: Alert[] = [];
    await until(async () => {
      await ask();
      alerts = await prometheus.alerts();
      return isDeepStrictEqual(byInstance(alerts), expected);
    }).catch(() => undefined);
    expect(byInstance(alerts)).toEqual(expected);
    const raised = new Set(alerts.map(({ labels }) => labels["alertname"]));
    const silent = (await prometheus.rules()).filter(({ name }) => !raised.has(name));
    for (const { name, query } of silent) {
      expect(SILENT).toContain(name);
      const measured = await prometheus.query(query.replace(/ (?:>|==) [^\n]+$/, " >= 0"));
      expect(measured).not.toHaveLength(0);
    }
    for (const { labels, annotations } of alerts) {
      expect(["critical", "warning", "info"]).toContain(labels["severity"]);
      const { summary, description } = annotations;
      expect(summary).toContain(labels["instance"]);
      expect(description).toMatch(/\.$/);
      expect(`${summary} ${description}`).not.toMatch(/<error|<no value>|\{\{/);
    }
  });

  test("each panel of the dashboard shows something", async () => {
    const { panels, templating } = JSON.parse(await readFile(join(FILES, "grafana.json"), "utf8"));
    const instance = templating.list.find(({ name }: { name: string }) => name === "instance");
    const [, metric = "", label = ""] =
      /^label_values\((\w+), (\w+)\)$/.exec(instance.query.query) ?? [];
    const known = (await prometheus.query(metric)).map((sample) => sample.metric[label]);
    expect(known.toSorted()).toEqual(Object.values(instances).toSorted());
    for (const { type, title, targets } of panels) {
      if (type === "row") continue;
      expect(targets, title).not.toHaveLength(0);
      for (const { expr, legendFormat } of targets) {
        const query = expr
          .replaceAll("$instance", known.join("|"))
          .replaceAll("$__rate_interval", "1m");
        expect(query, title).not.toContain("$");
        const [sample, ...others] = await found(query);
        expect(sample, `${title}: ${query}`).toBeDefined();
        for (const [, name = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          expect(sample?.metric, title).toHaveProperty(name);
        }
        if (others.length > 0) expect(legendFormat, title).toContain("{{");
      }
    }
  });
});
