/** The files of this folder, which the proxy sends and the report contains. */
import { readSite, siteNames } from "./read-site.ts";

export { FONT, readSite as siteBytes } from "./read-site.ts";

/** The text of a file of this folder. */
export const siteFile = (name: string): string => readSite(name).toString();

/** The Python module for callers, with its slot: the file of the package `clients/python` itself. */
export const pythonClient = (): string =>
  siteFile("../../clients/python/chipboard_client/__init__.py");

const ASSET = /\.(?:css|js|png|svg|webp)$/;

/** The names of the files that browsers load. */
export const siteAssets = (): string[] => siteNames().filter((name) => ASSET.test(name));

/**
 * Puts a value in place of each `{{name}}`. Throws if the text names a slot without a value, or if a
 * value has no slot.
 */
export function fillTemplate(template: string, slots: Readonly<Record<string, string>>): string {
  const used = new Set<string>();
  const text = template.replaceAll(/\{\{([a-z_]+)\}\}/g, (_, name: string) => {
    const value = slots[name];
    if (value === undefined) throw new Error(`The slot {{${name}}} has no value`);
    used.add(name);
    return value;
  });
  const unused = Object.keys(slots).filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`No slot is named ${unused.join(", ")}`);
  return text;
}
