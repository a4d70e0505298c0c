/** The words that hostile requests are made of: usual ones, and ones close to them. */
import { assetPath } from "../../src/pages/assets.ts";
import { dataPaths, pagePaths, uncountedPaths } from "../../test/http/addresses.ts";

export const USUAL_PATHS = [
  ...dataPaths("pro", ["item-0"]),
  ...uncountedPaths("key"),
  ...uncountedPaths("everybody"),
  ...pagePaths("item-0"),
  assetPath("reference.js"),
];
export const ODD_SEGMENTS = [
  ..."%00 % %zz %ff%fe item%2D0 item-0%00 a%2F..%2Fprices %C3%A9 __proto__ constructor".split(" "),
  ..."..%2f..%2fpro%2fcontracts%2fitem-0 item-0.json %252e%252e .. . %2e%2E manifest.json".split(
    " ",
  ),
];
export const PIECES =
  "/ // . .. %2e %2F %5c \\ % %00 ; & ? # = api public v1 prices PRICES item-0 index usage pro free catalog.json manifest.json export.csv readyz docs /api/public/v1 /prices openapi.json * @ ~ %e9 null sessions ledger".split(
    " ",
  );
export const KEY_NAMES = [
  "token",
  "KEY",
  "api_key",
  "x-api-key",
  "q",
  "ids",
  "weights",
  "quantities",
  "%74oken",
  "[]",
];
export const ORIGINS = [
  "http://x",
  "https://u:p@other.example",
  "http://a:99999",
  "ftp://x",
  "HTTP://[::1]",
];
export const CODINGS = [
  "br",
  "gzip",
  "br;q=0, gzip",
  "*;q=0",
  "identity;q=0",
  "gzip;q=1.5",
  "x-gzip",
  "*",
  "br, br, br;q=0.1",
  ",,,",
  "\xe9",
  "deflate, zstd",
  "gzip;;q=",
  "",
];
export const DATES = [
  "Sat, 21 Nov 2026 00:05:00 GMT",
  "Thu, 01 Jan 1970 00:00:00 GMT",
  "Fri, 31 Dec 9999 23:59:59 GMT",
  "yesterday",
  "-1",
  "\xff\xfe",
];
export const ADDRESSES = [
  "::1",
  "2001:db8::1",
  "::ffff:1.2.3.4",
  "1.2.3",
  "[::1]:80",
  ", ,",
  "\xe9",
  "a,b",
];
export const ODD_FIELDS = [
  "Connection: close",
  "Connection: Upgrade",
  "Connection: keep-alive, TE",
  "Connection: \xe9",
  "Upgrade: websocket",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "Expect: the-unexpected",
  "Range: bytes=0-1",
  "Range: bytes=-1,5-",
  "Range: bytes=7-",
  "Range: bytes=-300",
  "Range: bytes=99999999-",
  "Range: bytes=\xff-",
  "Cookie: a=b; c",
  "X-Empty:",
  "If-Match: *",
  "If-Range: x",
  "TE: trailers",
  "Host: y",
  "Accept: text/html;q=x",
  "Origin: null",
  "Content-Type: \xff",
  "X-HTTP-Method-Override: DELETE",
  "__proto__: x",
];
