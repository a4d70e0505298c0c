/** Mutations of a feed's text: cut off, doubled, other separators, stray characters. */
import type { FeedRandom } from "./feed-random.ts";

const PIECES = [
  ...'" "" , ; \\ { } [ ] : \' # / -- // /* \0 \u001b \u0085 \u2028 \ufeff \u202e \u00a0 💾 ,,, \\u0000 \\ud800'.split(
    " ",
  ),
  "\t",
  "\n",
  "\r",
  "\r\n",
  "\n\n",
  "\v",
  '"\n',
  ',"',
  "id,spot_usd\n",
  '{"id":"dram-0"}',
];

/** Makes one mutation: its description and the new text. */
export function mutateText(text: string, random: FeedRandom): [string, string] {
  const at = random.below(text.length + 1);
  const to = Math.min(text.length, at + 1 + random.below(40));
  switch (random.below(11)) {
    case 0:
      return [`cut off at ${at}`, text.slice(0, at)];
    case 1:
      return [`${at} to ${to} gone`, text.slice(0, at) + text.slice(to)];
    case 2:
      return [`${at} to ${to} twice`, text.slice(0, to) + text.slice(at)];
    case 3:
      return ["semicolons for commas", text.replaceAll(",", ";")];
    case 4:
      return ["tabs for commas", text.replaceAll(",", "\t")];
    case 5:
      return ["CR for line ends", text.replaceAll(/\r?\n/g, "\r")];
    case 6:
      return ["twice", text + text];
    case 7:
      return ["empty last rows", `${text}${random.pick(["", "\n", "\r\n"])},,,\n,\n" "," "\n`];
    case 8:
      return ["a title", `Levels of the day,,\n${text}`];
    default: {
      const piece = random.pick(PIECES);
      return [`${shown(piece)} at ${at}`, text.slice(0, at) + piece + text.slice(at)];
    }
  }
}

/** The beginning of a text, for messages. */
export const shown = (text: string): string => JSON.stringify(text.slice(0, 60));
