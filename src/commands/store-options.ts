/** The options of every command that reads or writes snapshots. */
import type { Option } from "commander";
import { createOption } from "../lib/config.ts";
import type { ObjectStore } from "../ports/store.ts";
import { openStore } from "../store/open-store.ts";
import { textThat } from "./option-values.ts";

export interface StoreOptions {
  readonly store: string;
  readonly s3Endpoint?: string;
  readonly s3Region?: string;
  readonly s3PathStyle?: boolean;
}

const address = textThat((text) => {
  const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
  return url !== null && url.href === url.origin + url.pathname && !url.pathname.includes("@");
}, "expected an http(s) URL without user, password and query");

export const storeOptions = (): Option[] => [
  createOption("--store <location>", "folder or s3://bucket/prefix of the snapshots").default(
    "./snapshots",
  ),
  ...s3Options(),
];

/** The `--s3-…` options only. */
export const s3Options = (): Option[] => [
  createOption("--s3-endpoint <url>", "address of the S3 server, if it is not AWS's", address),
  createOption("--s3-region <region>", "region of the bucket"),
  createOption("--s3-path-style", "put the bucket's name into the path instead of the host name"),
];

/** Opens the store that the options name. Throws InputError, which says what `named` it, if they name none. */
export function storeFromOptions(options: StoreOptions, named?: string): Promise<ObjectStore> {
  const { store, s3Endpoint: endpoint, s3Region: region, s3PathStyle: pathStyle } = options;
  return openStore(store, { endpoint, region, pathStyle }, named);
}

/** Does the work on the store that the options name, and closes it. Throws as `storeFromOptions` does. */
export async function withStore<T>(
  options: StoreOptions,
  work: (store: ObjectStore) => Promise<T>,
  named?: string,
): Promise<T> {
  const store = await storeFromOptions(options, named);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
