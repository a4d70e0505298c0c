/**
 * The fonts of the workbook. A cell's font replaces the default one as a whole, so each names all
 * of it: Excel has its own idea of a font without a size.
 */
/** The default font, as exceljs has it. */
export const FONT = { name: "Calibri", size: 11, family: 2, scheme: "minor" } as const;

/** The font of headers and labels. */
export const HEADER_FONT = { ...FONT, bold: true } as const;
