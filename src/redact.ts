/** A URL as it may be shown: without user name and password. Other texts stay as they are. */
export const redactedUrl = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1***@");
