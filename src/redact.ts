/** A URL without its user name and password, for messages. Other texts stay as they are. */
export const redactedUrl = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1***@");
