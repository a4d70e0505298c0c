/** Where the snapshots of a soak are: a folder, or the bucket of a test's S3 server. */
import type { ObjectStore } from "../../src/store/object-store.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { TestService } from "../services/services.ts";

export interface StorePlace {
  readonly store: ObjectStore;
  /** What names it on the command line, and what a process needs in its environment. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export async function folderPlace(location: string): Promise<StorePlace> {
  return { store: await openStore(location), args: ["--store", location], env: {} };
}

/**
 * Runs `work` on a prefix of its own in the service's bucket. Meanwhile this process has the
 * service's credentials in its environment, where its own store looks for them as all others do.
 */
export async function onS3(
  { env }: TestService,
  prefix: string,
  work: (place: StorePlace) => Promise<void>,
): Promise<void> {
  const endpoint = env["CHIPBOARD_TEST_S3_ENDPOINT"] as string;
  const location = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${prefix}`;
  const credentials = Object.entries(env).filter(([name]) => name.startsWith("AWS_"));
  const before = credentials.map(([name]) => [name, process.env[name]] as const);
  for (const [name, value] of credentials) process.env[name] = value;
  try {
    const store = await openStore(location, { endpoint, pathStyle: true });
    const args = ["--store", location, "--s3-path-style", "--s3-endpoint", endpoint];
    await work({ store, args, env: Object.fromEntries(credentials) });
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}
