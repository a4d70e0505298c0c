/** A real Prometheus with the configuration of deploy/monitoring, which scrapes the proxies of a test. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { endWithUs } from "../program/program.ts";

export const FILES = join(import.meta.dirname, "../../deploy/monitoring");

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  /** The time, and the number as text. */
  readonly value: readonly [number, string];
}

export interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: "pending" | "firing";
}

export interface Rule {
  readonly name: string;
  readonly query: string;
}

export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /** Starts one in `folder` that scrapes the proxies (`127.0.0.1:9464`) and a node_exporter, and judges the rules, each second. */
  static async start(
    folder: string,
    targets: readonly string[],
    exporter: string,
  ): Promise<Prometheus> {
    const config = (await readFile(join(FILES, "prometheus.yml"), "utf8"))
      .replace("scrape_interval: 15s", "scrape_interval: 1s")
      .replace('["127.0.0.1:9464"]', JSON.stringify(targets))
      .replace("127.0.0.1:9100", exporter);
    const file = join(folder, "prometheus.yml");
    await writeFile(file, `global:\n  evaluation_interval: 1s\n  scrape_interval: 1s\n${config}`);
    await copyFile(join(FILES, "alerts.yml"), join(folder, "alerts.yml"));
    const args = [`--config.file=${file}`, `--storage.tsdb.path=${join(folder, "data")}`];
    const child = spawn("prometheus", [...args, "--web.listen-address=127.0.0.1:0"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    endWithUs(child);
    let log = "";
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.on("data", (piece) => {
        log += String(piece);
        const address = /msg="Listening on" address=(127\.0\.0\.1:\d+)/.exec(log)?.[1];
        if (address !== undefined && log.includes("Server is ready"))
          resolve(`http://${address}/api/v1`);
      });
      child.once("exit", () => reject(new Error(`prometheus ended: ${log}`)));
    });
    return new Prometheus(child, url);
  }

  /** Evaluates an expression now. Throws if it is none. */
  async query(expression: string): Promise<Sample[]> {
    const { result } = await this.#ask(`query?query=${encodeURIComponent(expression)}`);
    return result as Sample[];
  }

  /** The alerts that are pending or firing. */
  async alerts(): Promise<Alert[]> {
    return (await this.#ask("alerts"))["alerts"] as Alert[];
  }

  async rules(): Promise<Rule[]> {
    const { groups } = await this.#ask("rules");
    return (groups as { rules: Rule[] }[]).flatMap(({ rules }) => rules);
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }

  async #ask(path: string): Promise<Record<string, unknown>> {
    const answer = await (await fetch(`${this.#url}/${path}`)).json();
    const { status, error, data } = answer as Record<string, unknown>;
    if (status !== "success") throw new Error(`${path}: ${String(error)}`);
    return data as Record<string, unknown>;
  }
}
