/** `init`: writes a folder to begin with, with an empty state and empty stores, and says which command comes next. */
import { existsSync, realpathSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { Command } from "commander";
import { clockFromEnvironment, createOption } from "../lib/config.ts";
import { InputError, reasonOf } from "../lib/errors.ts";
import { printJson, printLine } from "../lib/terminal.ts";
import { dateText, dayOf, sessionAt, sessionKey } from "../market/session.ts";
import { examples, jsonOption, withOptions, type JsonOption } from "./every-command.ts";

/** The folder `init` beside this module has a template of each. The folders of state and store are in chipboard.env. */
const FILES = ["catalog.csv", "closes.csv", "quotes.csv", "chipboard.env", "crontab", "chipboard"];
const STATE = "state";
/** The store of the samples is next.txt's. */
const STORES = ["snapshots", "samples"];

interface InitOptions extends JsonOption {
  readonly edge?: true;
}

export function initCommand(): Command {
  const edge = createOption(
    "--edge",
    "write a Worker and the operator's door, to deploy without a machine",
  );
  return withOptions(new Command("init"), [edge, jsonOption()])
    .argument("<folder>", `a new folder, or one without ${FILES.join(", ")}`)
    .addHelpText("after", examples("init ./prices", "init --edge ./edge"))
    .action(async (folder: string, { edge: isOfEdge, json }: InitOptions) => {
      const place = resolve(folder);
      // A line of a crontab holds the place; "" would be this folder.
      if (folder === "" || /\p{Cc}/u.test(place)) {
        const wrong = JSON.stringify(folder === "" ? folder : place);
        throw new InputError(`${wrong}: expected a folder, without control characters in its name`);
      }
      if (isOfEdge === true) {
        const { initEdge, nextSteps } = await import("./init-edge.ts");
        const written = await initEdge(place);
        if (json) printJson(written);
        else printLine(await nextSteps(written));
        return;
      }
      const fill = fillerFor(place);
      await writeAll(place, fill);
      if (json) printJson({ folder: place, files: FILES });
      else printLine((await fill("next.txt")).trimEnd());
    });
}

/** Reads templates and fills them in. Dates count back from today, so that the samples have changes. */
function fillerFor(place: string): (template: string) => Promise<string> {
  const session = sessionAt(clockFromEnvironment().now());
  const today = dayOf(session);
  const values: Readonly<Record<string, string>> = {
    files: FILES.join(", "),
    session: sessionKey(session),
    place,
    folder: word(place),
    node: word(process.execPath),
    program: word(realpathSync(process.argv[1] as string)),
    // cron ends a command at a bare percent sign.
    cron: word(place).replaceAll("%", "\\%"),
  };
  return async (template) => {
    const text = await readFile(new URL(`init/${template}`, import.meta.url), "utf8");
    return text
      .replaceAll(/\{\{days (\d+)\}\}/g, (_, days: string) => dateText(today - Number(days)))
      .replaceAll(/\{\{([a-z]+)\}\}/g, (_, value: string) => values[value] as string);
  };
}

const word = (text: string): string =>
  /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Writes the files, an empty state and empty stores into a hidden folder. That becomes the new `place` at once; if
 * `place` is there, each file gets its name when all are whole, and a state or store that is there stays. Throws
 * InputError, and writes nothing, if it has one of the files.
 */
async function writeAll(place: string, fill: (template: string) => Promise<string>): Promise<void> {
  const taken = FILES.filter((name) => existsSync(join(place, name)));
  if (taken.length > 0) {
    const found = `${JSON.stringify(place)} has ${taken.join(", ")} already`;
    throw new InputError(`${found}; nothing was written. Name a new folder`);
  }
  const isNew = !existsSync(place);
  const parent = isNew ? dirname(place) : place;
  const { markStore } = await import("../snapshot/store-mark.ts");
  const { createState } = await import("../state/open.ts");
  const { openStore } = await import("../store/open-store.ts");
  try {
    await mkdir(parent, { recursive: true });
    const hidden = await mkdtemp(join(parent, ".chipboard-init-"));
    try {
      for (const name of FILES) {
        const mode = name === "chipboard" ? 0o700 : 0o600;
        await writeFile(join(hidden, name), await fill(name), { mode });
      }
      const folder = isNew ? hidden : place;
      await createState(join(folder, STATE));
      for (const name of STORES) {
        await markStore(await openStore(join(folder, name)), clockFromEnvironment().now());
      }
      if (isNew) await rename(hidden, place);
      else for (const name of FILES) await rename(join(hidden, name), join(place, name));
    } finally {
      await rm(hidden, { recursive: true, force: true });
    }
  } catch (cause) {
    const where = `${JSON.stringify(place)}: expected a folder to write`;
    throw new InputError(`${where} (${reasonOf(cause)})`, [], { cause });
  }
}
