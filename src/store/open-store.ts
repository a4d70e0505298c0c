import { InputError } from "../errors.ts";
import type { ObjectStore } from "./object-store.ts";

/** How to reach an S3 server; what is not given is found the AWS way (environment, profiles). */
export interface S3Settings {
  /** A URL; without it Amazon's. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Whether the bucket's name goes into the path (`https://host/bucket/key`). */
  readonly pathStyle?: boolean | undefined;
}

/**
 * Opens the store that `location` names: `s3://bucket/prefix`, or the path of a folder (created by
 * the first write). Drivers are loaded when they are needed. Throws InputError where it is neither.
 */
export async function openStore(location: string, s3: S3Settings = {}): Promise<ObjectStore> {
  if (location.startsWith("s3://")) {
    const { openS3Store } = await import("./s3-store.ts");
    return openS3Store(location, s3);
  }
  if (location === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(location)) {
    throw new InputError(
      `--store ${JSON.stringify(location)}: expected a folder or s3://bucket/prefix`,
    );
  }
  const { FolderStore } = await import("./folder-store.ts");
  return new FolderStore(location);
}
