/** The media types of exports: stored in manifests, sent as they are, and named by the OpenAPI document. */

/** RFC 4180, 3; the first record holds the columns' names. */
export const CSV_TYPE = "text/csv; charset=utf-8; header=present";

/** As registered with IANA for Excel workbooks (.xlsx). */
export const XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
