/** Runs the programs of the guide as they stand on the page. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { call } from "../http/client.ts";
import { clientOf, programsUnder, textOf } from "./guide-texts.ts";

/** The first program under the heading of the page. It asks `origin`, and reads its key from KEY. */
export function programUnder(heading: string, origin?: string, page = "guide.md"): string {
  const [program] = programsUnder(textOf(`documents/${page}`, origin), heading);
  if (program === undefined) throw new Error(`no program under ${heading}`);
  return program.text;
}

interface Ended {
  /** Null: killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs it with the key in KEY. */
export const run = (
  program: string,
  args: readonly string[],
  cwd: string,
  key: string,
): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { ...process.env, KEY: key };
    const child = execFile(program, args, { cwd, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });

/**
 * Runs keep_histories.py again and again, and kills it before the first line of client.py that it comes to, before the
 * second that it had not come to yet, and so on, until it ends by itself. After each kill it copies the folder
 * into killed/. Forks, because imports take long.
 */
const KILLER = `import os, shutil, signal, sys, client

program = compile(open("keep_histories.py").read(), "keep_histories.py", "exec")

def run_lines(left):
    seen = set()
    def trace(frame, event, arg):
        if frame.f_code.co_filename != client.__file__:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
            if len(seen) > left:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    exec(program, {})

lines = 0
while True:
    child = os.fork()
    if child == 0:
        run_lines(lines)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status):
        sys.exit(os.WEXITSTATUS(status))
    shutil.copytree(".", f"killed/{lines}", ignore=shutil.ignore_patterns("killed"))
    lines += 1
`;

/** A row of a database. */
export type Row = Readonly<Record<string, string | number | null>>;

/** The program that copies the histories, with its database in a folder of its own. */
export class Copy {
  readonly #home: string;
  readonly #front: Front;
  readonly #key: string;

  private constructor(home: string, front: Front, key: string) {
    this.#home = home;
    this.#front = front;
    this.#key = key;
  }

  /** A new copy in a new folder under `parent`, which asks `front` with the key. */
  static async create(parent: string, front: Front, key: string): Promise<Copy> {
    const home = await mkdtemp(join(parent, "copy-"));
    await writeFile(join(home, "keep_histories.py"), programUnder("A copy in SQLite", front.url));
    await writeFile(join(home, "client.py"), clientOf(front.url));
    await writeFile(join(home, "killer.py"), KILLER);
    return new Copy(home, front, key);
  }

  run(): Promise<Ended> {
    return run("python3", ["-B", "-W", "error", "keep_histories.py"], this.#home, this.#key);
  }

  /** Kills it at each of its lines, and lets it end at last. Returns the copies after each kill. */
  async killAtEachLine(): Promise<Copy[]> {
    const ended = await run("python3", ["-B", "killer.py"], this.#home, this.#key);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const killed = join(this.#home, "killed");
    const lines = (await readdir(killed)).map(Number).sort((one, other) => one - other);
    return lines.map((line) => new Copy(join(killed, String(line)), this.#front, this.#key));
  }

  /** Runs it twice, and sees that each run asks and says this refusal. */
  async runRefused(refusal: string): Promise<void> {
    for (let run = 0; run < 2; run += 1) {
      const { requests } = this.#front;
      const { code, stdout, stderr } = await this.run();
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr.trimEnd().split("\n").at(-1)).toContain(refusal);
      expect(this.#front.requests).toBeGreaterThan(requests);
    }
  }

  rows(): Row[] {
    const tables = this.#ask("select * from sqlite_master where name = 'history'");
    if (tables.length === 0) return [];
    return this.#ask(
      "select history.* from history join contracts using (contract_id) order by place, date",
    );
  }

  cursor(): Row {
    return this.#ask("select * from cursor")[0] ?? {};
  }

  #ask(sql: string): Row[] {
    const database = new DatabaseSync(join(this.#home, "history.sqlite"));
    const rows = database.prepare(sql).all() as Row[];
    database.close();
    return rows.map((row) => ({ ...row }));
  }
}

/** Stands between a program and the proxy, and passes requests on. */
export interface Front {
  readonly url: string;
  target: string;
  /** How many it got. */
  requests: number;
  /** What happens between a request for histories and its answer. */
  beforeFile: () => Promise<void>;
  /** Whether the connection ends in the middle of the histories. */
  cutsFiles: boolean;
  /** What the program gets in place of the text of an answer; both have the same length. */
  edit: (path: string, text: string) => string;
  close(): Promise<void>;
}

export async function startFront(target: string): Promise<Front> {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "";
    const key = String(incoming.headers["x-api-key"]);
    const answer = async (): Promise<void> => {
      started.requests += 1;
      const isFile = path.includes("/history.csv");
      if (isFile) await started.beforeFile();
      const { status, headers, text } = await call(started.target + path, {
        headers: { "x-api-key": key },
      });
      const raw = Buffer.from(started.edit(path, text));
      outgoing.writeHead(status, headers);
      if (!isFile || !started.cutsFiles) outgoing.end(raw);
      else outgoing.write(raw.subarray(0, raw.length / 2), () => outgoing.destroy());
    };
    answer().catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const started: Front = {
    url: `http://127.0.0.1:${port}`,
    target,
    requests: 0,
    beforeFile: async () => {},
    cutsFiles: false,
    edit: (_, text) => text,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return started;
}
