/** Texts as bytes and back, without Node's Buffer. */

const encoder = new TextEncoder();
/** A byte order mark is a character as others are. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text in UTF-8. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

/** The text of UTF-8; other bytes become U+FFFD. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);

/** How many bytes the pieces have together. */
export const sizeOf = (pieces: readonly Uint8Array[]): number =>
  pieces.reduce((sum, { length }) => sum + length, 0);

/** The bytes of the pieces in a row; one piece is not copied. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const bytes = new Uint8Array(sizeOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Bytes given in hex. */
export const fromHex = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** Base64 (RFC 4648, 4). */
export const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
