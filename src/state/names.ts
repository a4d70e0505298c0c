/** By what accounts and keys are called on the command line, and how messages repeat it. */
import { InputError } from "../errors.ts";
import { isKeyId, KEY_ID_CHARACTERS, keyIdOf, looksLikeKey } from "./keys.ts";

const ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Whether an account can have this name. */
export const isAccountName = (text: string): boolean => ACCOUNT_NAME.test(text);

/** Throws InputError where no account can have this name. */
export function requireAccountName(text: string): void {
  if (isAccountName(text)) return;
  throw new InputError(
    `Account ${quoted(text)}: expected 1 to 63 of a-z, 0-9, ".", "_", "-", starting with a letter or digit`,
  );
}

/** Throws InputError for a text that is no KEYID. What is longer may be a key, and is not repeated. */
export function requireKeyId(text: string): void {
  if (isKeyId(text)) return;
  const expected = `expected a KEYID, the first ${KEY_ID_CHARACTERS} characters of a key (see keys ls)`;
  throw new InputError(
    text.length > KEY_ID_CHARACTERS
      ? `A text of ${text.length} characters given as a KEYID: ${expected}`
      : `Key ${quoted(text)}: ${expected}`,
  );
}

/** A name as a message may hold it; a key given in a name's place is not repeated. */
export const quoted = (text: string): string =>
  looksLikeKey(text) ? `"${keyIdOf(text)}…"` : JSON.stringify(text);
