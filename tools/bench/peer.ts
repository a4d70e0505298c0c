/** The servers to compare with. tools/bench installs their packages. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startServer, type Server } from "./server-process.ts";

const HERE = import.meta.dirname;

const BUN_ARCH = process.arch === "arm64" ? "aarch64" : process.arch;

/** Bun's program, from its package for this platform, which needs no install script. */
export const BUN = join(HERE, `node_modules/@oven/bun-${process.platform}-${BUN_ARCH}/bin/bun`);

/** Programs under peers/. */
export type PeerName = "bare" | "fastify" | "express";

/** Starts a peer with the recipe in `folder`; see recipe.ts. */
export const startPeer = (name: PeerName, folder: string): Promise<Server> =>
  startServer({
    name,
    command: process.execPath,
    args: [join(HERE, "peers", `${name}.ts`), folder],
    env: { NODE_ENV: "production" },
    log: join(folder, `${name}.log`),
  });

/** Installs the locked packages if they are missing. Throws if that fails. */
export function installPeers(say: (text: string) => void): void {
  if (existsSync(join(HERE, "node_modules", "fastify")) && existsSync(BUN)) return;
  say("installing the servers to compare with (npm ci --prefix tools/bench)");
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--prefix", HERE], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0) throw new Error("npm ci --prefix tools/bench failed");
}
