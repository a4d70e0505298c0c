/** The code blocks of a Markdown text in order, each with the prose before it. */

export interface Block {
  /**
   * `sh`: commands; `text`: the output of the block before; `csv`, and `json` behind the name of a file: a file;
   * `console`: both, by turns.
   */
  readonly language: string;
  /**
   * Who runs the commands: empty: somebody in a checkout (`story.test.ts`); `root`: root on a machine
   * (`test/deploy/one-machine.test.ts`); `docker`: nobody here; `python`: somebody
   * who has the Python client (`test/process/package.test.ts` installs and runs it).
   */
  readonly by: string;
  readonly text: string;
  /** The prose between the block before and this one. */
  readonly before: string;
}

export function blocksOf(markdown: string): Block[] {
  const parts = markdown.split(/^```(.*)\n([^]*?)^```$/m);
  const blocks: Block[] = [];
  for (let at = 0; at + 3 < parts.length; at += 3) {
    const [before = "", info = "", text = ""] = parts.slice(at);
    const [language = "", by = ""] = info.split(" ");
    blocks.push({ before, language, by, text });
  }
  return blocks;
}

/** The name of the file in a block: the last one that the prose before it names. */
export function fileNameOf({ before }: Block): string {
  const name = [...before.matchAll(/`([\w-]+\.(?:csv|json))`/g)].at(-1)?.[1];
  if (name === undefined) throw new Error(`no file is named before a block: ${before}`);
  return name;
}

/** The exit code that the prose before a block ends with; 0 by default. */
export const exitCodeOf = ({ before }: Block): number =>
  Number(/exit code (\d):\s*$/.exec(before)?.[1] ?? 0);
