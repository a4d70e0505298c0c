/**
 * The fonts of the workbook. A cell's font replaces the whole default font, so each font here names
 * every property: Excel chooses its own size for a font without one.
 */
/** The default font, as exceljs has it. */
export const FONT = { name: "Calibri", size: 11, family: 2, scheme: "minor" } as const;

/** The font of headers and labels. */
export const HEADER_FONT = { ...FONT, bold: true } as const;
