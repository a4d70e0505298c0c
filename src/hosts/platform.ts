/** Digests, random bytes and compression by the modules of Node, which every host has. */
import { createHash, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gzip, type ZlibOptions } from "node:zlib";
import type { Platform } from "../ports/platform.ts";
import { coded } from "../snapshot/coded.ts";
import { sha256Hex } from "../snapshot/digest.ts";

const gzipped = promisify<Uint8Array, ZlibOptions, Uint8Array>(gzip);

export const nodePlatform: Platform = {
  sha256: sha256Hex,
  hasher: () => {
    const hash = createHash("sha256");
    return { update: (piece) => void hash.update(piece), hex: () => hash.digest("hex") };
  },
  randomBytes,
  gzip: (bytes, effort) => (effort === "fast" ? coded(bytes) : gzipped(bytes, { level: 9 })),
};
