/** The blocks of code of a Markdown text, in order, with what is said just before each. */

export interface Block {
  /** `sh` to be run, `text` printed by the one before, `csv` a file. */
  readonly language: string;
  readonly text: string;
  /** The prose between the block before and this one. */
  readonly before: string;
}

export function blocksOf(markdown: string): Block[] {
  const parts = markdown.split(/^```(.*)\n([^]*?)^```$/m);
  const blocks: Block[] = [];
  for (let at = 0; at + 3 < parts.length; at += 3) {
    const [before = "", language = "", text = ""] = parts.slice(at);
    blocks.push({ before, language, text });
  }
  return blocks;
}

/** The name of the file that a block shows: the last one named before it. */
export function fileNameOf({ before }: Block): string {
  const name = [...before.matchAll(/`([\w-]+\.csv)`/g)].at(-1)?.[1];
  if (name === undefined) throw new Error(`no file is named before a block: ${before}`);
  return name;
}

/** The exit code that the last words before a block of commands promise; 0 where they name none. */
export const exitCodeOf = ({ before }: Block): number =>
  Number(/exit code (\d):\s*$/.exec(before)?.[1] ?? 0);
