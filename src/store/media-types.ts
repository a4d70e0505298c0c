/** The media types of stored objects and of files of pages, by the ends of their names. S3 keeps them. */
export const JSON_TYPE = "application/json";
/** CSV, with both parameters of RFC 4180, section 3. */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";
/** SHA256SUMS, and other plain text. */
export const TEXT_TYPE = "text/plain; charset=utf-8";
/** The report, and pages. */
export const HTML_TYPE = "text/html; charset=utf-8";

/** Objects never change. Shared caches must not keep them, because the data is licensed. */
export const CACHE_CONTROL = "private, max-age=31536000, immutable";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  csv: CSV_TYPE,
  // Gzip-coded files and kept inputs (RFC 6713).
  gz: "application/gzip",
  html: HTML_TYPE,
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: JSON_TYPE,
  md: "text/markdown; charset=utf-8",
  // JSON with one value per line: parts of the ledger.
  ndjson: "application/x-ndjson",
  // As registered with IANA.
  parquet: "application/vnd.apache.parquet",
  png: "image/png",
  py: "text/x-python; charset=utf-8",
  svg: "image/svg+xml",
  webp: "image/webp",
  woff2: "font/woff2",
  // An Office Open XML workbook (ECMA-376).
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml; charset=utf-8",
};

/** The media type of the object with this key, or of the file at this path of a snapshot. */
export const mediaTypeOf = (key: string): string =>
  TYPES[key.slice(key.lastIndexOf(".") + 1)] ?? TEXT_TYPE;
