/** A store with a signed log, and what `snapshots verify` finds in it. */
import { expect } from "vitest";
import { ENTRY, FIRST, SECOND, workshop, type Workshop } from "../cli/signed.ts";

export const OLD = `${FIRST}/r1`;
export const HEAD = `${SECOND}/r1`;

/** FIRST and SECOND, both signed with the key `k`. */
export async function signed(): Promise<{ shop: Workshop; fingerprint: string }> {
  const shop = workshop();
  const fingerprint = await shop.opensslKey("k");
  for (const session of [FIRST, SECOND]) {
    expect((await shop.publish(session, "--sign-key @k")).code).toBe(0);
  }
  return { shop, fingerprint };
}

/** The findings of `snapshots verify LINE`, which must end with 6; none if it ends with 0. */
export async function findings(shop: Workshop, line: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await shop.say(`snapshots verify ${line} --json`);
  const said = JSON.parse(stdout);
  if (code === 0) return said.damages;
  expect([code, said.error.exit_code]).toEqual([6, 6]);
  expect(stderr.split("\n").slice(1, -1)).toEqual(
    said.error.details.map((text: string) => `  ${text}`),
  );
  return said.error.details;
}

export const missing = (shop: Workshop, number: number, fingerprint: string): string =>
  `${shop.path("store")}/${ENTRY(number)} is unsigned: expected a signature by ${fingerprint}`;
export const wrong = (shop: Workshop, number: number, ...fingerprints: string[]): string =>
  `${shop.path("store")}/${ENTRY(number)} has a signature that does not fit it: ` +
  `expected a signature by ${fingerprints.join(" or ")}`;
export const broken = (number: number): unknown =>
  expect.stringContaining(`/${ENTRY(number)} does not follow the log before it: its previous is `);
