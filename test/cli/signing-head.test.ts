/** The signature of the log's newest entry: one run adds it, later runs require it. */
import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { publish } from "../../src/publish/publish.ts";
import { appendEntry } from "../../src/snapshot/append.ts";
import { mustRead } from "../../src/snapshot/publication-log.ts";
import type { LogKeys } from "../../src/snapshot/signed-log.ts";
import { parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { RUNS } from "../desk/desk.ts";
import { contentOf, headJson, lines, mustPublish, quotesOf, type Run } from "./market.ts";
import {
  ENTRY,
  FIRST,
  forgeHead,
  opensslVerifies,
  replace,
  SECOND,
  SIGNATURE,
  stored,
  workshop,
  type Workshop,
} from "./signed.ts";
import { CLOCK, requestOf } from "./signing-request.ts";

const KEYS = "--sign-key @k --verify-key @k.pub";

describe("an unchanged head", () => {
  test("gets its signature, once", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.publish(FIRST);
    const unsigned = await contentOf(shop.store);
    const added = await shop.publish(FIRST, "--sign-key @k");
    expect([added.code, added.stdout]).toEqual([
      0,
      expect.stringMatching(/^Signed 2026-11-20T12Z\/r1, which is the head and holds the same\n/),
    ]);
    expect(await opensslVerifies(shop, "k.pub")).toBe(true);
    const signed = await contentOf(shop.store);
    const { [SIGNATURE(1)]: _signature, ...rest } = signed;
    expect(rest).toEqual(unsigned);
    const again = JSON.parse((await shop.publish(FIRST, "--sign-key @k --json")).stdout);
    expect(again).toMatchObject({
      outcome: "unchanged",
      signature: { outcome: "present", fingerprint },
    });
    expect(await contentOf(shop.store)).toEqual(signed);
  });

  test("with carried, dropped, corrected or withdrawn levels gets its signature, too", async () => {
    const store = new MemoryStore();
    const sparse = { minCoverageMicros: 0, maxCarryDays: 1 };
    const runs: readonly Run[] = [
      ...RUNS,
      { ...sparse, session: "2026-11-22T00Z", quotes: quotesOf({ a: 12.5, b: 10.5, d: 3.1 }) },
      {
        ...sparse,
        session: "2026-11-22T00Z",
        quotes: lines(
          "id,spot_usd,session_utc,basis",
          "b,10.7,2026-11-21T12:00:00.000Z,",
          "a,,2026-11-21T00:00:00.000Z,withdrawn",
        ),
        revise: "Late report",
      },
    ];
    for (const run of runs) {
      const name = await mustPublish(store, run);
      const { snapshot, outcome, signing } = await publish(requestOf(run), store, CLOCK, () => {});
      expect([snapshotText(snapshot), outcome, signing?.outcome]).toEqual([
        name,
        "unchanged",
        "added",
      ]);
    }
    const { counts } = await headJson(store, "manifest.json");
    expect(counts).toMatchObject({ dropped: 1, corrected: 2 });
  });

  test.each([
    ["another key's", (shop: Workshop) => shop.publish(FIRST, "--sign-key @other")],
    [
      "no signature at all",
      async (shop: Workshop) => {
        await shop.publish(FIRST);
        writeFileSync(shop.path(`store/${SIGNATURE(1)}`), "signed, honestly");
      },
    ],
  ])("with %s: 4, dry run or not, and it does not change", async (_name, sign) => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.opensslKey("other");
    await sign(shop);
    const before = await contentOf(shop.store);
    for (const more of ["--sign-key @k", "--sign-key @k --dry-run"]) {
      const { code, stderr } = await shop.publish(FIRST, more);
      expect([code, stderr]).toEqual([
        4,
        expect.stringContaining(`.sig already holds a signature that is not by ${fingerprint}\n`),
      ]);
    }
    expect(await contentOf(shop.store)).toEqual(before);
    expect((await shop.publish(FIRST)).code).toBe(0);
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(0);
  });

  test("signed by an old key, while both keys are given: its signature is there", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("old");
    await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @old");
    writeFileSync(
      shop.path("both.pub"),
      Buffer.concat([shop.bytes("old.pub"), shop.bytes("k.pub")]),
    );
    for (const keys of ["@both.pub", "@old.pub --verify-key @k.pub"]) {
      const { stdout } = await shop.publish(FIRST, `--sign-key @k --verify-key ${keys} --json`);
      expect(JSON.parse(stdout).signature).toEqual({ outcome: "present", fingerprint });
    }
    expect((await shop.publish(SECOND, "--sign-key @k --verify-key @both.pub")).code).toBe(0);
    expect(await opensslVerifies(shop, "k.pub", 2)).toBe(true);
  });
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
      expect.stringContaining("0000000001.sig does not fit entry 1"),
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
      expect.stringContaining("0000000001.sig is missing: entry 1 is unsigned"),
    ]);
    expect((await shop.publish(FIRST, "--sign-key @k")).code).toBe(0);
    expect((await shop.publish(SECOND, KEYS)).code).toBe(0);
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
    await refused("0000000003.sig is missing: entry 3 is unsigned");
    await shop.store.create(SIGNATURE(3), (await shop.store.get(SIGNATURE(2))) as Buffer, "");
    await refused("0000000003.sig does not fit entry 3");
    await shop.store.delete(SIGNATURE(3));
    await shop.store.delete(ENTRY(3));
    const prune = { number: 3, action: "prune" as const, at: "2026-11-21T01:00:00.000Z" };
    const { sha256: previous } = await mustRead(shop.store, 2);
    await appendEntry(shop.store, { ...prune, snapshots: [], parts: [], previous });
    await refused("0000000003.sig is missing: entry 3 is unsigned");
  });

  test("refuses an entry before the newest that was changed, and a log that was cut off", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    for (const session of [FIRST, SECOND]) await shop.publish(session, KEYS);
    const prune = { number: 3, action: "prune" as const, at: "2026-11-21T01:00:00.000Z" };
    const { sha256: previous } = await mustRead(shop.store, 2);
    const pem = String(shop.bytes("k"));
    const keys: LogKeys = { signingKey: parseSigningKey(pem, "k"), verifyKeys: null };
    await appendEntry(shop.store, { ...prune, snapshots: [], parts: [], previous }, keys);
    const whole = (await shop.store.get(ENTRY(2))) as Buffer;
    const changed = String(whole).replace('"corrections":0', '"corrections":1');
    await replace(shop.store, ENTRY(2), Buffer.from(changed));
    const line = `publish --quotes @${SECOND}.csv --session ${SECOND} --revise new ${KEYS}`;
    const broken = await shop.say(line);
    expect([broken.code, broken.stderr]).toEqual([
      6,
      expect.stringContaining("0000000003.json does not follow the log before it"),
    ]);
    await replace(shop.store, ENTRY(2), whole);
    await shop.store.delete(ENTRY(3));
    for (const keysOfRun of [KEYS, "--sign-key @k", "--verify-key @k.pub"]) {
      const cut = await shop.publish(SECOND, keysOfRun);
      expect([cut.code, cut.stderr]).toEqual([
        6,
        expect.stringContaining("0000000003.sig signs an entry that is gone: the log was cut off"),
      ]);
    }
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
