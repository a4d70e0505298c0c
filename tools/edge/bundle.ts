/**
 * Bundles the Worker and the operator's door, each into one module. The files that the Node host reads from src/site are in
 * the Worker's.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "vite";
import { FONT, readSite } from "../../src/site/read-site.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const SITE = join(ROOT, "src", "site");
const PYTHON = "../../clients/python/chipboard_client/__init__.py";

/** The Workers of the edge: the source of each. */
export const WORKERS = {
  worker: "src/hosts/worker/worker.ts",
  door: "src/hosts/worker/door.ts",
} as const;

/** The module that has the files of src/site in place of the one that reads them. */
const siteFiles = (): Plugin => ({
  name: "site-files",
  async load(id) {
    if (!id.endsWith("/src/site/read-site.ts")) return null;
    const entries = await readdir(SITE, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile() && !/\.ts$|^tsconfig/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(SITE.length + 1));
    const files = Object.fromEntries(
      [...paths, FONT, PYTHON].map((name) => [name, readSite(name).toString("base64")]),
    );
    return `
      const files = ${JSON.stringify(files)};
      export const FONT = ${JSON.stringify(FONT)};
      export const readSite = (name) => Buffer.from(files[name], "base64");
      export const siteNames = () => Object.keys(files);
    `;
  },
});

const made = new Map<string, Promise<string>>();

/** The module of a Worker, whose source is at this path from the project's root. It is made once. */
export function bundled(source: string): Promise<string> {
  const known = made.get(source) ?? bundle(source);
  made.set(source, known);
  return known;
}

async function bundle(source: string): Promise<string> {
  const result = await build({
    configFile: false,
    root: ROOT,
    logLevel: "warn",
    plugins: [siteFiles()],
    ssr: { noExternal: true, target: "webworker" },
    resolve: { conditions: ["workerd", "worker", "import", "default"] },
    build: {
      ssr: join(ROOT, source),
      write: false,
      copyPublicDir: false,
      minify: true,
      rollupOptions: {
        external: [/^node:/, "cloudflare:workers"],
        output: { format: "es", codeSplitting: false },
      },
    },
  });
  const outputs = [result].flat().flatMap((each) => ("output" in each ? each.output : []));
  const [chunk] = outputs;
  if (chunk?.type !== "chunk" || outputs.length > 1)
    throw new Error(`${source}: expected a module`);
  return chunk.code;
}
