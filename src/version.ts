import manifest from "../package.json" with { type: "json" };

/** The program as it names itself in manifests, pages and `--version`. */
export const PROGRAM = { name: manifest.name, version: manifest.version } as const;
