/** Programs in Python that use /client.py as a proxy serves it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { call } from "../http/client.ts";
import { run } from "./programs.ts";

/** What a run of `sync` says. */
export interface Synced {
  readonly publication: number;
  readonly is_new: boolean;
  readonly is_whole: boolean;
  readonly bytes_received: number;
}

/** How a program begins; its key is in KEY. */
export const PRELUDE = `import json, os
from client import *
key = os.environ["KEY"]
`;

const SYNC = `import dataclasses, json, os
from client import Client, write_history
print(json.dumps(dataclasses.asdict(Client(key=os.environ["KEY"]).sync("history.sqlite"))))
with open("history.csv", "wb") as file:
    write_history("history.sqlite", file)
`;

/** A folder with the module in it. */
export class PythonClient {
  readonly home: string;
  readonly #key: string;

  private constructor(home: string, key: string) {
    this.home = home;
    this.#key = key;
  }

  /** Downloads the module from the proxy, whose address is in it. */
  static async download(origin: string, key: string): Promise<PythonClient> {
    const home = await mkdtemp(join(tmpdir(), "chipboard-python-"));
    const { status, text } = await call(`${origin}/client.py`);
    expect(status).toBe(200);
    await writeFile(join(home, "client.py"), text);
    return new PythonClient(home, key);
  }

  /** Runs the program, which must end well and complain of nothing. Returns its output. */
  async print(program: string, python = "python3"): Promise<string> {
    const { code, stdout, stderr } = await this.run(program, python);
    expect([code, stderr]).toEqual([0, ""]);
    return stdout;
  }

  run(program: string, python = "python3"): ReturnType<typeof run> {
    return run(python, ["-W", "error", "-B", "-c", program], this.home, this.#key);
  }

  /** Runs `sync`; returns its result, and the file that the copy gives. */
  async sync(): Promise<[Synced, Buffer]> {
    const said: Synced = JSON.parse(await this.print(SYNC));
    return [said, await readFile(join(this.home, "history.csv"))];
  }

  remove(): Promise<void> {
    return rm(this.home, { recursive: true });
  }
}
