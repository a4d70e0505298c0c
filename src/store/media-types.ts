/** The media types of stored objects. An S3 store keeps them with the object. */
export const JSON_TYPE = "application/json";
/** JSON with one value per line: parts of the ledger. */
export const NDJSON_TYPE = "application/x-ndjson";
/** CSV, with both parameters of RFC 4180, section 3. */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";
/** An Office Open XML workbook (ECMA-376). */
export const XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/** Apache Parquet, as registered with IANA. */
export const PARQUET_TYPE = "application/vnd.apache.parquet";
/** Gzip-coded files and kept inputs (RFC 6713). */
export const GZIP_TYPE = "application/gzip";
/** SHA256SUMS. */
export const TEXT_TYPE = "text/plain; charset=utf-8";
/** The report. */
export const HTML_TYPE = "text/html; charset=utf-8";
