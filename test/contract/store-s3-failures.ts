/** S3 stores that must fail, and the one-line error of each operation. */
import { afterEach, beforeEach, expect, vi } from "vitest";
import { EXIT, UnreachableError } from "../../src/lib/errors.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { keysOf } from "./store.contract.ts";

const NO_FILE = "/nonexistent/aws";

/** Sets these keys for every test of a file, and hides the AWS settings of the machine. */
export function useCredentials(accessKeyId = "key", secretAccessKey = "secret"): void {
  beforeEach(() => {
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", NO_FILE);
    vi.stubEnv("AWS_CONFIG_FILE", NO_FILE);
    vi.stubEnv("AWS_ACCESS_KEY_ID", accessKeyId);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", secretAccessKey);
    vi.stubEnv("AWS_REGION", undefined);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });
}

/** Opens the store at a location with the path style that most servers need. */
export const at = (
  location: string,
  settings: { endpoint?: string | undefined },
): Promise<ObjectStore> => openStore(location, { ...settings, pathStyle: true });

/** Expects every operation to fail with one line that matches. */
export async function expectFailures(store: ObjectStore, expected: RegExp): Promise<void> {
  const operations = [
    () => store.prove(),
    () => store.get("a"),
    () => store.open("a"),
    () => store.create("a", Buffer.from("a")),
    () => store.delete("a"),
    () => keysOf(store, "a"),
  ];
  for (const operation of operations) {
    const error = await operation().then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(UnreachableError);
    const { message, exitCode, details } = error as UnreachableError;
    expect(message).toMatch(expected);
    expect(message).toMatch(/^--store "s3:\/\/[^"]+": cannot (read|write|list|remove) [^\n]+$/);
    expect({ exitCode, details }).toEqual({ exitCode: EXIT.unreachable, details: [] });
  }
  await store.close();
}
