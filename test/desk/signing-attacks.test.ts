/**
 * Attacks by somebody who can write to the store: what `snapshots verify` says without a key, and of damage
 * that has several signs. test/http/attacks.test.ts covers it with a key and a memory.
 */
import { describe, expect, test } from "vitest";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { parseSnapshotText } from "../../src/store/paths.ts";
import { append, readHead } from "../store/log-entries.ts";
import { contentOf } from "../cli/small-market.ts";
import {
  changeEntry,
  ENTRY,
  FIRST,
  forgeHead,
  pointHeadTo,
  replace,
  SECOND,
  unsigned,
} from "../cli/signed.ts";
import { broken, findings, HEAD, missing, OLD, signed, wrong } from "./signing-findings.ts";

describe("an attacker who can write to the store but has no key", () => {
  test("a change of a file and of all that names it: only the signature shows it", async () => {
    const { shop, fingerprint } = await signed();
    await forgeHead(
      shop.store,
      (text) => text.replaceAll("Contract a", "Contract z"),
      "report.html",
    );
    for (const which of ["", "--all"]) {
      expect(await findings(shop, which)).toEqual([]);
      expect(await findings(shop, `${which} --verify-key @k.pub`)).toEqual([
        wrong(shop, 2, fingerprint),
      ]);
    }
  });

  test("a change of an older entry breaks the chain; the entries after it cannot be adjusted", async () => {
    const { shop, fingerprint } = await signed();
    const whole = (await shop.store.get(ENTRY(1))) as Buffer;
    const corrected = (text: string): string => text.replace('"corrections":0', '"corrections":1');
    await changeEntry(shop.store, 1, corrected);
    for (const line of ["", "--all", "--verify-key @k.pub", OLD]) {
      expect(await findings(shop, line)).toContainEqual(broken(2));
    }
    // Adjusted, the newest entry has other bytes.
    await replace(shop.store, ENTRY(1), whole);
    await changeEntry(shop.store, 2, corrected);
    expect(await findings(shop, "")).toEqual([]);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([wrong(shop, 2, fingerprint)]);
  });

  test("an entry removed, a signature, and both", async () => {
    const { shop, fingerprint } = await signed();
    await shop.must(`snapshots rollback ${FIRST} --reason back --sign-key @k`);
    await shop.store.delete(ENTRY(3));
    // That is an older log: nothing in the store shows it.
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([]);
    await changeEntry(shop.store, 2, unsigned);
    expect(await findings(shop, "")).toEqual([]);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([missing(shop, 2, fingerprint)]);
    await shop.store.delete(ENTRY(1));
    expect(await findings(shop, "")).toContainEqual(
      expect.stringContaining(`the log lacks ${ENTRY(1)}`),
    );
  });

  test("another snapshot's manifest, or a revision's under another number", async () => {
    const { shop } = await signed();
    const manifest = (await shop.store.get(`sessions/${OLD}/manifest.json`)) as Buffer;
    await pointHeadTo(shop.store, manifest);
    const moved =
      `${shop.path("store")}/sessions/${HEAD}/manifest.json is the manifest of ` +
      `2026-11-20T12:00:00.000Z r1, expected the manifest of ${HEAD}`;
    for (const line of ["", "--all", "--verify-key @k.pub", "--all --verify-key @k.pub"]) {
      expect(await findings(shop, line)).toContain(moved);
    }
    // All files of the older snapshot, under the number of the next revision.
    const content = await contentOf(shop.store);
    for (const [key, text] of Object.entries(content)) {
      if (!key.startsWith(`sessions/${OLD}/`)) continue;
      const copy = key.replace(`${FIRST}/r1`, `${FIRST}/r2`);
      await shop.store.create(copy, Buffer.from(text, "latin1"));
    }
    const head = (await readHead(shop.store)) as Publication;
    const { session } = parseSnapshotText(OLD) as { session: number };
    await append(shop.store, { ...head, session, revision: 2 });
    expect(await findings(shop, "--verify-key @k.pub")).toContainEqual(
      expect.stringContaining(
        `is the manifest of 2026-11-20T12:00:00.000Z r1, expected the manifest of ${FIRST}/r2`,
      ),
    );
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(6);
  });
});
