/** Signatures that a run lost or did not come to write: the next run adds them, unless it must not. */
import { describe, expect, test } from "vitest";
import { copyStore } from "../../src/desk/copy.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { describeSnapshot } from "../../src/desk/show.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { UnreachableError } from "../../src/lib/errors.ts";
import { publish } from "../../src/publish/publish.ts";
import type { PublishRequest } from "../../src/publish/request.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { signatureOfEntry } from "../../src/snapshot/entry-signature.ts";
import { mustRead, readHead, readLog } from "../../src/snapshot/publication-log.ts";
import type { LogKeys } from "../../src/snapshot/signed-log.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { signatureKey } from "../../src/store/paths.ts";
import { at, catalogOf, contentOf, quotesOf } from "./market.ts";
import { ENTRY, FIRST, replace, SECOND, SIGNATURE, workshop } from "./signed.ts";
import { CLOCK, KEY, requestOf, sourceOf } from "./signing-request.ts";

describe("a signature that was lost", () => {
  test("comes back with the next run: a publish, a rollback, a prune", async () => {
    for (const line of [
      `publish --quotes @${SECOND}.csv --session ${SECOND} --revise new`,
      `snapshots rollback ${FIRST} --reason back`,
      `snapshots rollback head --reason back`,
      "snapshots prune --keep-days 9",
    ]) {
      const shop = workshop();
      await shop.opensslKey("k");
      for (const session of [FIRST, SECOND]) await shop.publish(session, "--sign-key @k");
      const lost = await shop.store.get(SIGNATURE(2));
      await shop.store.delete(SIGNATURE(2));
      await shop.must(`${line} --sign-key @k`);
      expect([line, await shop.store.get(SIGNATURE(2))]).toEqual([line, lost]);
      await shop.must("snapshots verify --all --verify-key @k.pub");
    }
  });

  test("does not come back if the chain before it is broken, or other entries were signed", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    for (const session of [FIRST, SECOND]) await shop.publish(session, "--sign-key @k");
    const whole = (await shop.store.get(ENTRY(1))) as Buffer;
    await shop.store.delete(SIGNATURE(2));
    await replace(shop.store, ENTRY(1), Buffer.from(String(whole).replace("}\n", " }\n")));
    const line = `publish --quotes @${SECOND}.csv --session ${SECOND} --revise new --sign-key @k`;
    for (const said of [
      "0000000002.json does not follow the log before it",
      "0000000001.sig does not fit entry 1",
    ]) {
      const before = await contentOf(shop.store);
      const { code, stderr } = await shop.say(line);
      expect([code, stderr]).toEqual([6, expect.stringContaining(said)]);
      expect(await contentOf(shop.store)).toEqual(before);
      // Whoever can write to the store can make the chain fit, but not the older signature.
      const { sha256 } = await mustRead(shop.store, 1);
      const text = String(await shop.store.get(ENTRY(2)));
      const linked = text.replace(/"previous":"[^"]*"/, `"previous":"${sha256}"`);
      await replace(shop.store, ENTRY(2), Buffer.from(linked));
    }
  });
});

describe("the order of writing", () => {
  const strict: LogKeys = { signingKey: KEY, verifyKeys: [KEY.verifyKey] };
  const request = (): PublishRequest => ({
    ...requestOf({ quotes: quotesOf({ a: 1 }) }),
    catalog: sourceOf("catalog.csv", catalogOf(["a"])),
    keys: strict,
  });

  /** Records the created keys, and fails at one of them. */
  class WatchedStore extends MemoryStore {
    readonly created: string[] = [];
    failsAt: RegExp | null = null;
    /** What it did not create. */
    refused = Buffer.alloc(0);

    override async create(key: string, bytes: Uint8Array, type: string) {
      if (this.failsAt?.test(key) === true) {
        this.refused = Buffer.from(bytes);
        throw new UnreachableError("The connection is lost");
      }
      this.created.push(key);
      return super.create(key, bytes, type);
    }
  }

  test("is manifest, announcement, entry, signature; the announcement goes", async () => {
    const store = new WatchedStore();
    await publish(request(), store, CLOCK, () => {});
    expect(store.created.slice(-4)).toEqual([
      "sessions/2026-11-21T00Z/r1/manifest.json",
      expect.stringMatching(/^claims\/entries\/0000000001-[0-9a-f]{64}\.sig$/),
      ENTRY(1),
      SIGNATURE(1),
    ]);
    expect(Object.keys(await contentOf(store)).filter((key) => key.startsWith("claims/"))).toEqual(
      [],
    );
  });

  test.each([
    ["announcement", /^claims\/entries/, 0],
    ["entry", /^publications/, 0],
  ])(
    "lets a run that dies before the %s publish nothing and block nobody",
    async (_name, at, length) => {
      const store = new WatchedStore();
      store.failsAt = at;
      await expect(publish(request(), store, CLOCK, () => {})).rejects.toThrow(
        "connection is lost",
      );
      expect(await readLog(store)).toHaveLength(length);
      store.failsAt = null;
      const { snapshot, signing } = await publish(request(), store, CLOCK, () => {});
      expect([snapshot.revision, signing?.outcome]).toEqual([2, "signed"]);
    },
  );

  test("lets the next run sign what a run announced and did not sign, also with --verify-key", async () => {
    const other = parseSigningKey(newKeyPair().privatePem, "another key");
    for (const keys of [strict, { ...strict, verifyKeys: null }]) {
      const store = new WatchedStore();
      store.failsAt = /^publications.*sig$/;
      await expect(publish(request(), store, CLOCK, () => {})).rejects.toThrow(
        "connection is lost",
      );
      expect(await readHead(store)).toMatchObject({ number: 1 });
      store.failsAt = null;
      // A signature of no entry is none of the log's.
      await store.create("publications/9999999999.sig", Buffer.alloc(64), "");
      const foreign = { signingKey: other, verifyKeys: [other.verifyKey] };
      const next = { ...request(), session: at("2026-11-21T12Z") };
      await expect(
        publish({ ...next, keys: foreign }, store, CLOCK, () => {}),
      ).rejects.toMatchObject({ exitCode: 6 });
      await publish({ ...next, keys }, store, CLOCK, () => {});
      for (const number of [1, 2]) {
        const { sha256 } = await mustRead(store, number);
        expect(await store.get(signatureKey(number))).toEqual(signatureOfEntry(sha256, KEY));
      }
    }
  });

  test("follows reads that know how large the object may be", async () => {
    const unbounded: string[] = [];
    class MeasuredStore extends WatchedStore {
      override get(key: string, bytesMax?: number) {
        if (bytesMax === undefined) unbounded.push(key);
        return super.get(key, bytesMax);
      }
    }
    const store = new MeasuredStore();
    store.failsAt = /^publications.*sig$/;
    const next = { ...request(), session: at("2026-11-21T12Z") };
    await expect(publish(request(), store, CLOCK, () => {})).rejects.toThrow("connection is lost");
    store.failsAt = null;
    await publish(next, store, CLOCK, () => {});
    await rollBack(store, "head~1", "back", CLOCK, strict);
    await store.create("claims/2026-11-22T00Z/r1.json", Buffer.from('{"began":1}'), "");
    await store.create("taken/2026-11-22T00Z/r1.json", Buffer.from("{}"), "");
    await prune(store, 0, false, CLOCK, strict);
    expect((await verifySnapshots(store, null, strict.verifyKeys)).damages).toEqual([]);
    await describeSnapshot(store, "head");
    const copy = new MeasuredStore();
    for (const outcome of ["copied", "unchanged"]) {
      expect(await copyStore(store, copy, false, () => {})).toMatchObject({ outcome });
    }
    expect(unbounded).toEqual([]);
  });

  test("makes an announcement useless once another entry has the number", async () => {
    const store = new WatchedStore();
    await publish(request(), store, CLOCK, () => {});
    store.failsAt = /^publications/;
    const next = { ...request(), session: at("2026-11-21T12Z") };
    await expect(publish(next, store, CLOCK, () => {})).rejects.toThrow("connection is lost");
    store.failsAt = null;
    const rolled = await rollBack(store, "head", "again", CLOCK, strict);
    expect(rolled.outcome).toBe("unchanged");
    const { number } = await publish(
      { ...next, quotes: [sourceOf("quotes.csv", quotesOf({ a: 2 }))] },
      store,
      CLOCK,
      () => {},
    ).then(({ publication }) => ({ number: publication }));
    expect(number).toBe(2);
    await store.delete(SIGNATURE(2));
    await expect(publish(next, store, CLOCK, () => {})).rejects.toMatchObject({
      exitCode: 6,
      message: expect.stringContaining("entry 2 is unsigned"),
    });
    // The next prune after a signed entry of that number removes it.
    const announced = async (): Promise<string[]> =>
      Object.keys(await contentOf(store)).filter((key) => key.startsWith("claims/entries/"));
    expect(await announced()).toHaveLength(1);
    const { sha256 } = await mustRead(store, 2);
    await store.create(SIGNATURE(2), signatureOfEntry(sha256, KEY), "");
    await prune(store, 9_999, false, CLOCK, strict);
    expect(await announced()).toEqual([]);
  });

  test("lets an attacker who cuts off the log have an announced entry signed, and no other", async () => {
    const store = new WatchedStore();
    await publish(request(), store, CLOCK, () => {});
    store.failsAt = /^publications/;
    const next = { ...request(), session: at("2026-11-21T12Z") };
    await expect(publish(next, store, CLOCK, () => {})).rejects.toThrow("connection is lost");
    store.failsAt = null;
    const announced = store.refused;
    const quotes = [sourceOf("quotes.csv", quotesOf({ a: 2 }))];
    await publish({ ...next, quotes }, store, CLOCK, () => {});
    await store.delete(SIGNATURE(2));
    const later = { ...next, session: at("2026-11-22T00Z") };
    for (const text of [
      String(announced).replace('"corrections":0', '"corrections":1'),
      String(announced).replace("}\n", "} \n"),
    ]) {
      await replace(store, ENTRY(2), Buffer.from(text));
      await expect(publish(later, store, CLOCK, () => {})).rejects.toMatchObject({
        exitCode: 6,
        message: expect.stringContaining("entry 2 is unsigned"),
      });
    }
    await replace(store, ENTRY(2), announced);
    expect((await publish(later, store, CLOCK, () => {})).publication).toBe(3);
    expect(await store.get(SIGNATURE(2))).toEqual(signatureOfEntry(sha256Hex(announced), KEY));
  });
});
