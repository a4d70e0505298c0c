/** Encodes text and addresses so that a workbook holds them without loss. */

/**
 * Characters that XML cannot hold (ECMA-376 part 1, 22.9.2.19, ST_Xstring): a carriage return, which a
 * parser turns into a line feed, other controls, and an underscore that looks like the start of such
 * an escape (LibreOffice also reads escapes with fewer digits).
 */
const NEEDS_ESCAPE = /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{1,4}_)/g;

/** The text as a string cell holds it: `_xHHHH_` for characters that XML cannot hold. */
export const cellText = (text: string): string =>
  text.replace(
    NEEDS_ESCAPE,
    (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
  );

/** Excel reports a workbook with longer addresses as damaged. */
const MAX_LINK_CHARACTERS = 2_079;

const PLAIN_URI = /^(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$/;

/** exceljs writes an address with this text as a place inside the workbook. */
const LOOKS_LIKE_CELL = /!(?=[A-Za-z]+\d+$)/;

/**
 * The address as a link's target: a plain URI (RFC 3986) as it is, any other percent-encoded. Null if a
 * workbook cannot link to it; it then stays plain text.
 */
export function linkTarget(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const uri = PLAIN_URI.test(url) ? url : new URL(url).href;
  const target = uri.replace(LOOKS_LIKE_CELL, "%21");
  return PLAIN_URI.test(target) && target.length <= MAX_LINK_CHARACTERS ? target : null;
}

/** East Asian characters take two columns, as do the pairs of units that emoji are made of. */
const WIDE = /[\u1100-\u115f\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/g;

/** The approximate width of the text, in digits. */
export const shownWidth = (text: string): number => text.length + (text.match(WIDE)?.length ?? 0);
