/** The media types of what a store holds; an S3 store keeps them with the object. */
export const JSON_TYPE = "application/json";
/** JSON, a value a line: parts of the ledger. */
export const NDJSON_TYPE = "application/x-ndjson";
/** With both parameters that RFC 4180 (3) registers. */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";
/** Office Open XML (ECMA-376), a workbook. */
export const XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/** The report. */
export const HTML_TYPE = "text/html; charset=utf-8";
/** A signature: it has no registered type. */
export const SIGNATURE_TYPE = "application/octet-stream";
