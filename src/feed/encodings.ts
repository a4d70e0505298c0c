/** Encodings of text: their decoders, and the ones in which bytes that are not UTF-8 make sense. */

type Decoder = Pick<InstanceType<typeof TextDecoder>, "decode">;

/** The name that TextDecoder gives an encoding; null: it does not know it. */
export function encodingOf(label: string): string | null {
  try {
    // Korean programs use this name, but no standard has it.
    return new TextDecoder(/^cp949$/i.test(label) ? "euc-kr" : label).encoding;
  } catch {
    return null;
  }
}

/** A streaming decoder. For UTF-8 it throws at bytes that are not UTF-8; others make U+FFFD or controls of such bytes. */
export const decoderOf = (encoding: string): Decoder =>
  encoding === "euc-kr"
    ? koreanDecoder()
    : new TextDecoder(encoding, { fatal: encoding === "utf-8" });

/** Characters that a decoder gives for bytes outside of the encoding, and NUL, which is UTF-16 read as another encoding. */
export const NO_TEXT = /[\ufffd\u0000\u0080-\u009f]/;

/** Encodings of East Asia, each with a language that is written in it. */
const EAST_ASIAN = [
  ["euc-kr", "ko"],
  ["shift_jis", "ja"],
  ["euc-jp", "ja"],
  ["gb18030", "zh"],
  ["big5", "zh"],
] as const;
const WORDS = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hangul}\u30fc]+/gu;
/** No dictionary divides Korean: a text of Hangul alone counts more than no words, and less than words that are known. */
const HANGUL_SHARE = 0.6;

/** An encoding that bytes may have, and a word in it. */
export interface Reading {
  readonly encoding: string;
  readonly word: string;
}

/**
 * The encodings of East Asia in which the bytes are text with a word, the likeliest first: that with the most
 * characters in words that Unicode's dictionaries know. None: it is more likely a European encoding.
 */
export function eastAsianReadings(bytes: Uint8Array): readonly Reading[] {
  const found = EAST_ASIAN.flatMap(([encoding, language]) => {
    const text = decoderOf(encoding).decode(bytes);
    const words = text.match(WORDS) ?? [];
    const word = words.find(({ length }) => length > 1);
    if (word === undefined || NO_TEXT.test(text) || /[\p{Co}\p{Cn}]/u.test(text)) return [];
    const segmenter = new Intl.Segmenter(language, { granularity: "word" });
    let known = 0;
    for (const run of words) {
      if (/^\p{sc=Hangul}+$/u.test(run)) known += HANGUL_SHARE * run.length;
      else
        for (const { segment } of segmenter.segment(run))
          if (segment.length > 1) known += segment.length;
    }
    // Half-width katakana are what any other encoding looks like in Shift JIS.
    const halves = text.match(/[\uff61-\uff9f]/g)?.length ?? 0;
    return [{ encoding, word, score: (known - halves) / words.join("").length }];
  });
  return found.toSorted((a, b) => b.score - a.score);
}

/*
 * Korean Windows writes CP949, which the WHATWG Encoding Standard calls EUC-KR: KS X 1001, and all other modern
 * syllables of Hangul in the codes between. Node's decoder of EUC-KR lacks these 8,822 syllables (Node 24, ICU 78).
 */
const FIRST_SYLLABLE = 0xac00;
const SYLLABLES = 11_172;
/** Up to this lead byte, a code between can have any trail byte; above it, only those up to the same value. */
const LAST_FREE_LEAD = 0xa0;
const FREE_LEADS = 32;
/** How many trail bytes there are: letters and 0x81 to 0xfe; letters and 0x81 to 0xa0. */
const TRAILS = 178;
const SHORT_TRAILS = 84;

/** Characters that Node's decoder also lacks. */
const SIGNS: Readonly<Record<number, string>> = { 0xa2e6: "€", 0xa2e7: "®" };

/** Decodes CP949. */
export function koreanDecoder(): Decoder {
  const plain = new TextDecoder("euc-kr");
  const between = syllablesBetween(plain);
  /** A lead byte whose trail byte comes in the next piece. */
  let held: Uint8Array = new Uint8Array(0);
  return {
    decode(piece: Uint8Array = new Uint8Array(0), { stream = false } = {}): string {
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
      let text = "";
      let from = 0;
      let at = 0;
      while (at < bytes.length) {
        const lead = bytes[at] as number;
        const trail = bytes[at + 1];
        if (lead > 0x80 && trail === undefined && stream) break;
        const character = SIGNS[lead * 256 + (trail ?? 0)] ?? between[placeOf(lead, trail ?? 0)];
        if (character !== undefined) {
          text += plain.decode(bytes.subarray(from, at)) + character;
          from = at + 2;
        }
        at += lead > 0x80 ? 2 : 1;
      }
      const end = Math.min(at, bytes.length);
      held = bytes.slice(end);
      return text + plain.decode(bytes.subarray(from, end));
    },
  };
}

/** The syllables that KS X 1001 lacks, in the order of their codes, which is Unicode's order. */
function syllablesBetween(plain: Decoder): readonly string[] {
  const codes: number[] = [];
  for (let lead = 0xb0; lead <= 0xc8; lead += 1)
    for (let trail = 0xa1; trail <= 0xfe; trail += 1) codes.push(lead, trail);
  const standard = new Set(plain.decode(Uint8Array.from(codes)));
  return Array.from({ length: SYLLABLES }, (_, n) =>
    String.fromCharCode(FIRST_SYLLABLE + n),
  ).filter((syllable) => !standard.has(syllable));
}

/** Which of them a code is; −1: none. */
function placeOf(lead: number, trail: number): number {
  if (lead <= 0x80 || lead === 0xff) return -1;
  const column =
    trail >= 0x41 && trail <= 0x5a
      ? trail - 0x41
      : trail >= 0x61 && trail <= 0x7a
        ? trail - 0x61 + 26
        : trail >= 0x81 && trail <= 0xfe
          ? trail - 0x81 + 52
          : -1;
  if (column < 0) return -1;
  if (lead <= LAST_FREE_LEAD) return (lead - 0x81) * TRAILS + column;
  if (trail > LAST_FREE_LEAD) return -1;
  return FREE_LEADS * TRAILS + (lead - LAST_FREE_LEAD - 1) * SHORT_TRAILS + column;
}
