/** What can befall the files of a state, and what its operator does then. */
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const DATABASE = "chipboard.sqlite";
export const JOURNALS: readonly string[] = [`${DATABASE}-wal`, `${DATABASE}-shm`];

export interface Break {
  readonly what: string;
  /** Breaks the state. */
  readonly strike: (state: string) => void;
  /** Undoes it, or leaves that to the proxy; null where nobody can. */
  readonly mend: ((state: string) => void) | null;
}

export const vanishing = (names: readonly string[]): Break => ({
  what: `without ${names.join(", ")}`,
  strike: (state) => names.forEach((name) => rmSync(join(state, name), { force: true })),
  // What SQLite keeps beside the database it has in memory, too, and makes anew.
  mend: names.includes(DATABASE) ? null : () => undefined,
});

export const returning = (names: readonly string[]): Break => {
  const present = (state: string, suffix: string) =>
    names.map((name) => join(state, name)).filter((path) => existsSync(path + suffix));
  return {
    what: `${names.join(", ")} moved away and back`,
    strike: (state) => present(state, "").forEach((path) => renameSync(path, `${path}.away`)),
    mend: (state) => present(state, ".away").forEach((path) => renameSync(`${path}.away`, path)),
  };
};

export const DAMAGES: readonly Break[] = [
  {
    what: "the folder moved away and back",
    strike: (state) => renameSync(state, `${state}.away`),
    mend: (state) => renameSync(`${state}.away`, state),
  },
  {
    what: "a file in the folder's place",
    strike: (state) => {
      renameSync(state, `${state}.away`);
      writeFileSync(state, "");
    },
    mend: (state) => {
      rmSync(state);
      renameSync(`${state}.away`, state);
    },
  },
  {
    what: "the database emptied, and a copy put back",
    strike: (state) => {
      copyAside(state);
      truncateSync(join(state, DATABASE));
    },
    mend: restore,
  },
  {
    what: "another file in the database's place, and a copy put back",
    strike: (state) => {
      copyAside(state);
      writeFileSync(join(state, "junk"), "no database at all\n".repeat(500));
      renameSync(join(state, "junk"), join(state, DATABASE));
    },
    mend: restore,
  },
  {
    what: "the files read-only, and writable again",
    strike: (state) =>
      [DATABASE, ...JOURNALS].forEach((name) => chmodIfThere(join(state, name), 0o444)),
    mend: (state) =>
      [DATABASE, ...JOURNALS].forEach((name) => chmodIfThere(join(state, name), 0o600)),
  },
  {
    what: "an empty folder in its place, nobody puts it back",
    strike: (state) => {
      renameSync(state, `${state}.away`);
      mkdirSync(state);
    },
    mend: null,
  },
];

function copyAside(state: string): void {
  for (const name of [DATABASE, ...JOURNALS]) {
    if (existsSync(join(state, name))) copyFileSync(join(state, name), join(state, `copy-${name}`));
  }
}

/** As an operator does it: the copies under their names, whatever was there removed. */
function restore(state: string): void {
  for (const name of JOURNALS) {
    rmSync(join(state, name), { force: true });
    if (existsSync(join(state, `copy-${name}`)))
      renameSync(join(state, `copy-${name}`), join(state, name));
  }
  renameSync(join(state, `copy-${DATABASE}`), join(state, DATABASE));
}

const chmodIfThere = (path: string, mode: number): void => {
  if (existsSync(path)) chmodSync(path, mode);
};

export function* subsetsOf(names: readonly string[]): Generator<string[]> {
  for (let bits = 1; bits < 2 ** names.length; bits += 1) {
    yield names.filter((_, at) => (bits & (2 ** at)) !== 0);
  }
}
