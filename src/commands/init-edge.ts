/** `init --edge`: writes the Worker and the operator's door into a new folder, ready to deploy, and makes the door's secret. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import door from "../../deploy/edge/door.json" with { type: "json" };
import wrangler from "../../deploy/edge/wrangler.json" with { type: "json" };
import { InputError, reasonOf } from "../lib/errors.ts";

/** The bundles are made with the package; a checkout makes them by `npm run build:edge`. */
const BUNDLES = new URL(
  import.meta.url.endsWith(".ts") ? "../../dist/edge/" : "../../edge/",
  import.meta.url,
);
const MODULES = ["worker.js", "door.js"];
const SECRET_BYTES = 32;

/** The folder as it was written. The secret is nowhere else. */
export interface EdgeFolder {
  readonly folder: string;
  readonly files: readonly string[];
  readonly secret: string;
}

/** Writes the folder. Throws InputError, and writes nothing, if it is there already or cannot be written. */
export async function initEdge(folder: string): Promise<EdgeFolder> {
  const shown = JSON.stringify(folder);
  if (existsSync(folder)) {
    throw new InputError(`${shown} is there already; nothing was written. Name a new folder`);
  }
  const missing = MODULES.find((name) => !existsSync(new URL(name, BUNDLES)));
  if (missing !== undefined) {
    throw new InputError(`The bundle ${missing} is not made yet: run "npm run build:edge" first`);
  }
  const secret = randomBytes(SECRET_BYTES).toString("hex");
  const hash = createHash("sha256").update(secret).digest("hex");
  const configurations = {
    "wrangler.json": wrangler,
    "door.json": { ...door, vars: { DOOR_SECRET_SHA256: hash } },
  };
  try {
    await mkdir(dirname(folder), { recursive: true });
    const hidden = await mkdtemp(join(dirname(folder), `.${basename(folder)}-`));
    try {
      for (const name of MODULES) await copyFile(new URL(name, BUNDLES), join(hidden, name));
      for (const [name, configuration] of Object.entries(configurations))
        await writeFile(join(hidden, name), `${JSON.stringify(configuration, null, 2)}\n`);
      await rename(hidden, folder);
    } finally {
      await rm(hidden, { recursive: true, force: true });
    }
  } catch (cause) {
    throw new InputError(`${shown}: expected a folder to write (${reasonOf(cause)})`, [], {
      cause,
    });
  }
  return { folder, files: [...MODULES, ...Object.keys(configurations)], secret };
}

/** The next steps, with the secret. */
export async function nextSteps({ folder, secret }: EdgeFolder): Promise<string> {
  const text = await readFile(new URL("init/edge.txt", import.meta.url), "utf8");
  return text.replaceAll("{{folder}}", folder).replaceAll("{{secret}}", secret).trimEnd();
}
