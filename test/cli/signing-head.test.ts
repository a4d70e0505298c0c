/** The signature of the log's newest entry: each run writes it with its entry, and later runs require it. */
import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { copyStore } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { describeSnapshot } from "../../src/desk/show.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { publish } from "../store/begun.ts";
import type { LogKeys } from "../../src/snapshot/log/sign.ts";
import { parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import { at, catalogOf, contentOf, quotesOf } from "./small-market.ts";
import {
  changeEntry,
  ENTRY,
  FIRST,
  forgeHead,
  SECOND,
  signatureIn,
  signedAs,
  stored,
  workshop,
} from "./signed.ts";
import { CLOCK, KEY, requestOf, sourceOf } from "./signing-request.ts";

const KEYS = "--sign-key @k --verify-key @k.pub";

describe("an unchanged head", () => {
  test("is nothing to do, signed or not, with any key that may append", async () => {
    const shop = workshop();
    await shop.opensslKey("old");
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    await shop.publish(SECOND, "--sign-key @old");
    const both = Buffer.concat([shop.bytes("old.pub"), shop.bytes("k.pub")]);
    writeFileSync(shop.path("both.pub"), both);
    const before = await contentOf(shop.store);
    for (const keys of ["", "--sign-key @k", "--sign-key @k --verify-key @both.pub"]) {
      const { code, stdout } = await shop.publish(SECOND, `${keys} --json`);
      expect([code, JSON.parse(stdout)]).toEqual([
        0,
        expect.objectContaining({ outcome: "unchanged", signature: null }),
      ]);
    }
    expect((await shop.publish(SECOND, KEYS)).code).toBe(6);
    expect(await contentOf(shop.store)).toEqual(before);
  });
});

describe("the order of writing", () => {
  const request = requestOf({ quotes: quotesOf({ a: 1 }) });
  const first = { ...request, catalog: sourceOf("catalog.csv", catalogOf(["a"])) };

  test("is manifest, then the entry with its signature", async () => {
    const created: string[] = [];
    const store = new InterceptedStore(new MemoryStore(), ({ kind, key }, run) => {
      if (kind === "create") created.push(key);
      return run();
    });
    await publish(first, store, CLOCK, () => {});
    const manifest = "sessions/2026-11-21T00Z/r1/manifest.json";
    expect(created.slice(-2)).toEqual([manifest, ENTRY(1)]);
  });

  test("a run that finds its number taken signs anew for the next one", async () => {
    const inner = new MemoryStore();
    await publish(first, inner, CLOCK, () => {});
    let isRaced = false;
    const store = new InterceptedStore(inner, async ({ kind, key }, run) => {
      if (kind === "create" && key === ENTRY(2) && !isRaced) {
        isRaced = true;
        await append(inner, EMPTY_PRUNE, CLOCK.now(), first.keys);
      }
      return run();
    });
    const next = { ...request, session: at("2026-11-21T12Z") };
    expect((await publish(next, store, CLOCK, () => {})).publication).toBe(3);
    const { damages, signatures } = await verifySnapshots(inner, null, [KEY.verifyKey]);
    expect([damages, signatures.map(({ number }) => number)]).toEqual([[], [1, 2, 3]]);
  });
});

test("every read knows how large the object may be", async () => {
  const unbounded: string[] = [];
  class MeasuredStore extends MemoryStore {
    override get(key: string, bytesMax?: number) {
      if (bytesMax === undefined) unbounded.push(key);
      return super.get(key, bytesMax);
    }
  }
  const store = new MeasuredStore();
  const strict: LogKeys = { signingKey: KEY, verifyKeys: [KEY.verifyKey] };
  const quotes = quotesOf({ a: 1 });
  const catalog = sourceOf("catalog.csv", catalogOf(["a"]));
  for (const session of ["2026-11-21T00Z", "2026-11-21T12Z"]) {
    const request = { ...requestOf({ session, quotes }), catalog, keys: strict };
    await publish(request, store, CLOCK, () => {});
  }
  await rollBack(store, "head~1", "back", CLOCK, strict);
  await store.create("claims/2026-11-22T00Z/r1.json", Buffer.from('{"began":1}'));
  await store.create("taken/2026-11-22T00Z/r1.json", Buffer.from("{}"));
  await prune(store, 0, false, CLOCK, strict);
  expect((await verifySnapshots(store, null, strict.verifyKeys)).damages).toEqual([]);
  await describeSnapshot(store, "head");
  const copy = new MeasuredStore();
  for (const outcome of ["copied", "unchanged"]) {
    expect(await copyStore(store, copy, false, () => {})).toMatchObject({ outcome });
  }
  expect(unbounded).toEqual([]);
});

describe("publish --verify-key", () => {
  test("builds only on a signed log", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.opensslKey("other");
    expect((await shop.publish(FIRST, KEYS)).code).toBe(0);
    const { stderr, code } = await shop.publish(
      SECOND,
      "--sign-key @other --verify-key @other.pub",
    );
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining("0000000001.json has a signature that does not fit it"),
    ]);
    const renamed = (text: string): string => text.replace("Contract a", "Contract z");
    await forgeHead(shop.store, renamed, "catalog.json");
    const before = await contentOf(shop.store);
    const quotes = `publish --quotes @${SECOND}.csv --session ${SECOND} --sign-key @k`;
    expect((await shop.say(`${quotes} --verify-key @k.pub`)).code).toBe(6);
    expect(await contentOf(shop.store)).toEqual(before);
    // Without it, the forged levels become part of the signed history.
    await shop.must(quotes);
    await shop.must("snapshots verify --verify-key @k.pub");
    expect(String(shop.bytes(stored(SECOND, "catalog.json")))).toContain("Contract z");
  });

  test("refuses an unsigned log (6) until it is signed", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    const refused = await shop.publish(SECOND, KEYS);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("0000000001.json is unsigned: expected a signature by"),
    ]);
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(0);
    const line = `publish --quotes @${FIRST}.csv --session ${SECOND} --revise new ${KEYS}`;
    expect((await shop.say(line)).code).toBe(0);
  });

  test("refuses what somebody without the key appended: a prune, a rollback, a copied signature", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST, KEYS);
    await shop.publish(SECOND, KEYS);
    await shop.must(`snapshots rollback ${FIRST} --reason older`);
    const refused = async (said: string): Promise<void> => {
      const before = await contentOf(shop.store);
      const lines = [
        `publish --quotes @${SECOND}.csv --session ${SECOND} --revise new`,
        `snapshots rollback ${SECOND} --reason back`,
        "snapshots prune --keep-days 0",
      ];
      for (const line of lines) {
        const { code, stderr } = await shop.say(`${line} ${KEYS}`);
        expect([line, code, stderr]).toEqual([line, 6, expect.stringContaining(said)]);
      }
      expect(await contentOf(shop.store)).toEqual(before);
    };
    await refused("0000000003.json is unsigned: expected a signature by");
    const own = signatureIn(String(await shop.store.get(ENTRY(2))));
    await changeEntry(shop.store, 3, (text) => signedAs(text, own));
    await refused("0000000003.json has a signature that does not fit it");
    await shop.store.delete(ENTRY(3));
    await append(shop.store, EMPTY_PRUNE);
    await refused("0000000003.json is unsigned: expected a signature by");
  });

  test("refuses an entry before the newest that was changed", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    for (const session of [FIRST, SECOND]) await shop.publish(session, KEYS);
    const keys = { signingKey: parseSigningKey(String(shop.bytes("k")), "k"), verifyKeys: null };
    await append(shop.store, EMPTY_PRUNE, 0, keys);
    const corrected = (text: string): string => text.replace('"corrections":0', '"corrections":1');
    await changeEntry(shop.store, 2, corrected);
    const line = `publish --quotes @${SECOND}.csv --session ${SECOND} --revise new ${KEYS}`;
    const broken = await shop.say(line);
    expect([broken.code, broken.stderr]).toEqual([
      6,
      expect.stringContaining("0000000003.json does not follow the log before it"),
    ]);
  });

  test("without --sign-key it would append what nobody signed: 2, before anything is read", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    for (const line of [
      `publish --quotes @${FIRST}.csv`,
      "snapshots rollback head --reason x",
      "snapshots prune --keep-days 9",
    ]) {
      const { code, stderr } = await shop.say(`${line} --verify-key @k.pub`);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining("--verify-key without --sign-key"),
      ]);
    }
    expect(existsSync(shop.path("store"))).toBe(false);
  });

  test("requires the public key of --sign-key: 2, before anything is read", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.opensslKey("other");
    const { code, stderr } = await shop.publish(FIRST, "--sign-key @k --verify-key @other.pub");
    expect([code, stderr]).toEqual([2, expect.stringContaining("the public key of --sign-key")]);
    expect(existsSync(shop.path("store"))).toBe(false);
  });
});
