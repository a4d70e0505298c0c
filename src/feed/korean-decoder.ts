/**
 * Decodes what Korean Windows calls CP949, and the WHATWG Encoding Standard EUC-KR: KS X 1001, and all other modern
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

type Decoder = InstanceType<typeof TextDecoder>;

/** A streaming decoder, with the method of TextDecoder. Bytes that are no character become U+FFFD or controls. */
export function koreanDecoder(): Pick<Decoder, "decode"> {
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
