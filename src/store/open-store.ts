/** Opens the store that `--store` names. */
import { InputError } from "../lib/errors.ts";
import { isAddress, shownLocation } from "../lib/secrets.ts";
import type { ObjectStore } from "../ports/store.ts";

/** How to reach an S3 server. The AWS SDK finds missing values in the environment or in profiles. */
export interface S3Settings {
  /** A URL. Default: Amazon's. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Whether the bucket's name goes into the path (`https://host/bucket/key`). */
  readonly pathStyle?: boolean | undefined;
}

/**
 * Opens the store at `location`: `s3://bucket/prefix`, or the path of a folder (the first write
 * creates it). `option` is what named it on the command line, for messages. Throws InputError for any
 * other location. Loads only the driver that it needs.
 */
export async function openStore(
  location: string,
  s3: S3Settings = {},
  option = "--store",
): Promise<ObjectStore> {
  if (location.startsWith("s3://")) {
    const { openS3Store } = await import("./s3-store.ts");
    return openS3Store(location, s3, option);
  }
  if (location === "" || isAddress(location)) {
    throw new InputError(
      `${option} ${JSON.stringify(shownLocation(location))}: expected a folder or s3://bucket/prefix`,
    );
  }
  const { FolderStore } = await import("./folder-store.ts");
  return new FolderStore(location, option);
}
