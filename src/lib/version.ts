/** The name and version of the program. */
import manifest from "../../package.json" with { type: "json" };

/** Name and version of the program, for manifests, pages and `--version`. */
export const PROGRAM = { name: manifest.name, version: manifest.version } as const;

/** What requests to other servers say of the program: some refuse requests without it. */
export const USER_AGENT = `${PROGRAM.name}/${PROGRAM.version}`;
