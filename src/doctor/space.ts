/** The free space of the disks that hold store and state. */
import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { reasonOf, UnreachableError } from "../lib/errors.ts";
import { isAddress } from "../lib/secrets.ts";
import { ALERT_LIMITS, beyondLimit, faultOf, ok, type Finding } from "./checks.ts";

/** `store` and `state` are locations as in the options; only folders have a disk here. */
export async function checkSpace(store: string, state: string): Promise<Finding> {
  const folders = [store, state].filter((place) => !isAddress(place));
  if (folders.length === 0)
    return ok("space", "neither store nor state is on a disk of this machine");
  const remedy = "enlarge the disk, or remove old snapshots (chipboard snapshots prune --dry-run)";
  const texts: string[] = [];
  let isLow = false;
  for (const folder of folders) {
    try {
      const { blocks, bavail, bsize, files, ffree } = await statfs(nearest(resolve(folder)));
      // File systems without a fixed number of files say 0.
      const shares = [bavail / blocks, files === 0 ? 1 : ffree / files];
      isLow ||= Math.min(...shares) < ALERT_LIMITS.freeShare;
      const percent = shares.map((share) => Math.floor(share * 100));
      const free = `${((bavail * bsize) / 1e9).toFixed(1)} GB (${percent[0]} percent)`;
      texts.push(`${folder} has ${free} and ${percent[1]} percent of its files free`);
    } catch (cause) {
      const message = `${folder}: free space is not known: ${reasonOf(cause)}`;
      return faultOf("space", new UnreachableError(message, [], { cause }), remedy);
    }
  }
  const text = texts.join("; ");
  return isLow
    ? beyondLimit(
        "space",
        `${text}; expected at least ${ALERT_LIMITS.freeShare * 100} percent`,
        remedy,
      )
    : ok("space", text);
}

/** The folder, or the nearest one above it that exists. */
const nearest = (folder: string): string =>
  existsSync(folder) ? folder : nearest(dirname(folder));
