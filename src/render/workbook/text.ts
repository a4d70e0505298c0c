/** Text and addresses in the forms that a workbook's parts hold without loss. */

/**
 * What XML cannot hold (ECMA-376 part 1, 22.9.2.19, ST_Xstring): a carriage return, which a parser
 * turns into a line feed, other controls, and an underscore that would be read as such an escape
 * (LibreOffice reads those of fewer digits too).
 */
// oxlint-disable-next-line no-control-regex
const NEEDS_ESCAPE = /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{1,4}_)/g;

/** The text as a string cell holds it: `_xHHHH_` for characters that XML cannot hold. */
export const cellText = (text: string): string =>
  text.replace(
    NEEDS_ESCAPE,
    (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`,
  );

/** Excel takes longer addresses for damage. */
const MAX_LINK_CHARACTERS = 2_079;

const PLAIN_URI = /^(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*$/;

/** What exceljs writes as a place inside the workbook, whatever stands before it. */
const LOOKS_LIKE_CELL = /!(?=[A-Za-z]+\d+$)/;

/**
 * The address as a link's target: itself where it is a plain URI (RFC 3986), percent-encoded where
 * it is not. Null where a workbook cannot link to it; it stays plain text then.
 */
export function linkTarget(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const uri = PLAIN_URI.test(url) ? url : new URL(url).href;
  const target = uri.replace(LOOKS_LIKE_CELL, "%21");
  return PLAIN_URI.test(target) && target.length <= MAX_LINK_CHARACTERS ? target : null;
}

/** East Asian characters take two columns, as do the pairs of units that emoji are made of. */
const WIDE = /[\u1100-\u115f\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/g;

/** About how many digits wide the text is shown. */
export const shownWidth = (text: string): number => text.length + (text.match(WIDE)?.length ?? 0);
