/** Reads what site-files.ts gives. The bundle of a Worker, which has no files, has another module in the place of this one. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The font of style.css, in the letters of western Europe. */
export const FONT = "figtree.woff2";
const FONT_FILE = "@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2";

/** A file of this folder by its path from here, or the font. */
export const readSite = (name: string): Buffer =>
  readFileSync(
    name === FONT ? fileURLToPath(import.meta.resolve(FONT_FILE)) : new URL(name, import.meta.url),
  );

/** The files in this folder and those in it, by their paths from here. */
export const siteNames = (): string[] =>
  readdirSync(new URL(".", import.meta.url), { recursive: true }).map(String);
