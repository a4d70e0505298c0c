/** A head as another version of the program would have published it: other files, tiers or format. */
import type { ObjectStore } from "../../src/ports/store.ts";
import { changeHead } from "./signed.ts";

/** Takes the files from the head whose paths match. */
export const withoutFiles = (store: ObjectStore, paths: RegExp): Promise<void> =>
  changeHead(store, ({ files }) => ({ files: files.filter(({ path }) => !paths.test(path)) }));

/** The same without a tier: neither its files nor its summary. */
export const withoutTier = (store: ObjectStore, tier: string): Promise<void> =>
  changeHead(store, ({ files, tiers }) => ({
    files: files.filter((file) => file.tier !== tier),
    tiers: Object.fromEntries(Object.entries(tiers).filter(([name]) => name !== tier)),
  }));
