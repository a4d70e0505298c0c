/**
 * Attacks by somebody who can write to the store: what `snapshots verify` says without a key, and of damage
 * that has several signs. test/http/attacks.test.ts has what it says with a key and a memory.
 */
import { describe, expect, test } from "vitest";
import { readHead } from "../../src/snapshot/publication-log.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { contentOf } from "../cli/market.ts";
import { ENTRY, FIRST, forgeHead, pointHeadTo, replace, SECOND, SIGNATURE } from "../cli/signed.ts";
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
    const text = String(await shop.store.get(ENTRY(1)));
    await replace(shop.store, ENTRY(1), Buffer.from(text.replace("}\n", " }\n")));
    for (const line of ["", "--all", "--verify-key @k.pub", OLD]) {
      expect(await findings(shop, line)).toContainEqual(broken(2));
    }
    // Adjusted, the newest entry has other bytes.
    await replace(shop.store, ENTRY(1), Buffer.from(text));
    const newest = String(await shop.store.get(ENTRY(2)));
    await replace(shop.store, ENTRY(2), Buffer.from(newest.replace("}\n", " }\n")));
    expect(await findings(shop, "")).toEqual([]);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([wrong(shop, 2, fingerprint)]);
  });

  test("an entry removed, with or without its signature", async () => {
    const { shop, fingerprint } = await signed();
    await shop.must(`snapshots rollback ${FIRST} --reason back --sign-key @k`);
    await shop.store.delete(ENTRY(3));
    const cut = `${shop.path("store")}/${SIGNATURE(3)} signs ${ENTRY(3)}, which is gone: the log was cut off`;
    for (const line of ["", "--all", "--verify-key @k.pub"]) {
      expect(await findings(shop, line)).toEqual([cut]);
    }
    await shop.store.delete(SIGNATURE(2));
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([
      cut,
      missing(shop, 2, fingerprint),
    ]);
    // Who takes the signature, too, leaves an older log: nothing in the store shows that.
    await shop.store.delete(SIGNATURE(3));
    await shop.store.delete(ENTRY(2));
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([]);
  });

  test("another snapshot's manifest, or a revision's under another number", async () => {
    const { shop } = await signed();
    const manifest = (await shop.store.get(`sessions/${OLD}/manifest.json`)) as Buffer;
    await pointHeadTo(shop.store, manifest);
    const moved =
      `${shop.path("store")}/sessions/${HEAD}/manifest.json is the manifest of ` +
      `2026-11-20T12:00:00.000Z r1, expected that of ${HEAD}`;
    for (const line of ["", "--all", "--verify-key @k.pub", "--all --verify-key @k.pub"]) {
      expect(await findings(shop, line)).toContain(moved);
    }
    // All files of the older snapshot, under the number of the next revision.
    const content = await contentOf(shop.store);
    for (const [key, text] of Object.entries(content)) {
      if (!key.startsWith(`sessions/${OLD}/`)) continue;
      const copy = key.replace(`${FIRST}/r1`, `${FIRST}/r2`);
      await shop.store.create(copy, Buffer.from(text, "latin1"), "");
    }
    const head = await readHead(shop.store);
    const entry = { ...head, number: 3, session: FIRST, revision: 2 };
    await shop.store.create(publicationKey(3), Buffer.from(JSON.stringify(entry)), "");
    expect(await findings(shop, "--verify-key @k.pub")).toContainEqual(
      expect.stringContaining(
        `is the manifest of 2026-11-20T12:00:00.000Z r1, expected that of ${FIRST}/r2`,
      ),
    );
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(6);
  });
});
