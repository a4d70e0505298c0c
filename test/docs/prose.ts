/** Finds constructions that make sentences hard to read, in documents, comments and messages. */

interface Construction {
  readonly pattern: RegExp;
  readonly remedy: string;
  /** A question may have these words. */
  readonly isFineInQuestions?: true;
  /** Code and lists of a table may have it. */
  readonly isForParagraphs?: true;
}

const CONSTRUCTIONS: readonly Construction[] = [
  {
    pattern:
      /,\s+too\b(?!\s+(?:early|far|few|high|large|late|long|low|many|much|old|short|small))/g,
    remedy: 'put "also" before the verb',
  },
  {
    pattern: /(?:^|[.!:|]\s+|["'`]|[-*] )Who\s+\w+/gm,
    remedy: "name the person or program that acts",
    isFineInQuestions: true,
  },
  { pattern: /\bwhoever\s+\w+/gi, remedy: "name the person or program that acts" },
  { pattern: /\b(?:that|those)\s+of\s+\S+/gi, remedy: "name the thing again" },
  {
    pattern: /\bwhat\s+(?:are|comes|had|has|have|is|it|lies|stands|they|was|were)\b/gi,
    remedy: "name the thing",
    isFineInQuestions: true,
  },
  {
    pattern:
      /\band\s+so\s+(?:are|did|do|does|has|have|is|was|were)\b|\bso\s+(?:it|they)\s+(?:did|do|does)\b(?!\s+not\b)/gi,
    remedy: "name the actor and its verb",
  },
  {
    pattern: /[^.;:|]+;[^.;|]+;[^.;|]+/g,
    remedy: "write sentences or a list",
    isForParagraphs: true,
  },
];

export interface Finding {
  readonly line: number;
  readonly words: string;
  readonly remedy: string;
}

/** Spaces in place of marks between the words of a sentence: comments, quotes, joined strings. Lengths stay. */
function withoutMarks(text: string): string {
  const blank = (marks: string): string => marks.replaceAll(/[^\n]/g, " ");
  return text
    .replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/|#+|>)(?= |$)/gm, blank)
    .replaceAll(/["'`] \+\n\s*["'`]/g, blank);
}

/** Blanks fenced code, tables and code within sentences. */
function paragraphsOf(text: string): string {
  const blank = (code: string): string => code.replaceAll(/[^\n]/g, " ");
  return text
    .replaceAll(/^```[^]*?^```$/gm, (code) => `.${blank(code).slice(1)}`)
    .replaceAll(/^\|.*$/gm, (row) => `.${blank(row).slice(1)}`)
    .replaceAll(/^#+ .*$|^(?=[-*] |\d+\. )|\n(?=\n)/gm, (mark) =>
      mark === "" ? "" : `.${blank(mark).slice(1)}`,
    )
    .replaceAll(/`[^`\n]*`/g, blank);
}

export function findHardWords(text: string, isDocument: boolean): Finding[] {
  const sentences = withoutMarks(text);
  return CONSTRUCTIONS.flatMap(({ pattern, remedy, isFineInQuestions, isForParagraphs }) => {
    if (isForParagraphs && !isDocument) return [];
    const searched = isForParagraphs ? paragraphsOf(text) : sentences;
    return [...searched.matchAll(pattern)]
      .filter(
        ({ index }) => !isFineInQuestions || !/^[^.!;|"`\n]*\?/.test(searched.slice(index + 1)),
      )
      .map(({ index, 0: words }) => ({
        line: searched.slice(0, index + words.search(/\S/)).split("\n").length,
        words: words.trim().replaceAll(/\s+/g, " "),
        remedy,
      }));
  });
}
