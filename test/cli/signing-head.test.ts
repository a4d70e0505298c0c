/** The signature of the head: one run adds it, later runs require it. */
import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { publish } from "../../src/publish/publish.ts";
import type { PublishRequest } from "../../src/publish/request.ts";
import { readHead } from "../../src/snapshot/publication-log.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { RUNS } from "../desk/desk.ts";
import {
  at,
  catalogOf,
  contentOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
  type Run,
} from "./market.ts";
import {
  FIRST,
  forgeHead,
  opensslVerifies,
  pointHeadTo,
  SECOND,
  stored,
  workshop,
  type Workshop,
} from "./signed.ts";

const SIGNATURE = stored(FIRST, "manifest.sig");
const MANIFEST = stored(FIRST, "manifest.json");

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
    const { [SIGNATURE.slice("store/".length)]: _signature, ...rest } = signed;
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
        writeFileSync(shop.path(SIGNATURE), "signed, honestly");
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
        expect.stringContaining(
          `manifest.sig already holds a signature that is not by ${fingerprint}\n`,
        ),
      ]);
    }
    expect(await contentOf(shop.store)).toEqual(before);
    expect((await shop.publish(FIRST)).code).toBe(0);
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(0);
  });

  test("with a manifest that does not match its files gets no signature: 6", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    const { identity } = JSON.parse(String(shop.bytes(MANIFEST)));
    await forgeHead(shop.store, (text) => text.replace('"spot_usd":10', '"spot_usd":99'));
    const forged = JSON.parse(String(shop.bytes(MANIFEST)));
    const claim = Buffer.from(JSON.stringify({ ...forged, identity }));
    await pointHeadTo(shop.store, claim);
    const { code, stderr } = await shop.publish(FIRST, "--sign-key @k");
    expect([code, stderr]).toEqual([6, expect.stringContaining("it is not signed")]);
    expect(existsSync(shop.path(SIGNATURE))).toBe(false);
  });
});

describe("publish --verify-key", () => {
  test("builds only on a signed head", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.opensslKey("other");
    const keys = "--sign-key @k --verify-key @k.pub";
    expect((await shop.publish(FIRST, keys)).code).toBe(0);
    const { stderr, code } = await shop.publish(
      SECOND,
      "--sign-key @other --verify-key @other.pub",
    );
    expect([code, stderr]).toEqual([6, expect.stringContaining("does not fit 2026-11-20T12Z/r1")]);
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

  test("refuses an unsigned head (6) until it is signed", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    const keys = "--sign-key @k --verify-key @k.pub";
    const refused = await shop.publish(SECOND, keys);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("manifest.sig is missing: 2026-11-20T12Z/r1 is unsigned"),
    ]);
    expect((await shop.publish(FIRST, "--sign-key @k")).code).toBe(0);
    expect((await shop.publish(SECOND, keys)).code).toBe(0);
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

describe("the order of writing", () => {
  const request = (): PublishRequest => ({
    ...requestOf({ quotes: quotesOf({ a: 1 }) }),
    catalog: sourceOf("catalog.csv", catalogOf(["a"])),
  });

  /** Records the created keys, and fails at one of them. */
  class WatchedStore extends MemoryStore {
    readonly created: string[] = [];
    failsAt: string | null = null;

    override async create(key: string, bytes: Uint8Array, type: string) {
      if (this.failsAt !== null && key.endsWith(this.failsAt)) {
        throw new UnreachableError("The connection is lost");
      }
      this.created.push(key);
      return super.create(key, bytes, type);
    }
  }

  test("is manifest, signature, publication", async () => {
    const store = new WatchedStore();
    await publish(request(), store, CLOCK, () => {});
    expect(store.created.slice(-3)).toEqual([
      "sessions/2026-11-21T00Z/r1/manifest.json",
      "sessions/2026-11-21T00Z/r1/manifest.sig",
      "publications/0000000001.json",
    ]);
  });

  test("lets a run that dies before the signature publish nothing and block nobody", async () => {
    const store = new WatchedStore();
    const asked = request();
    store.failsAt = "manifest.sig";
    await expect(publish(asked, store, CLOCK, () => {})).rejects.toThrow("connection is lost");
    expect(await readHead(store)).toBeNull();
    store.failsAt = null;
    const { snapshot, signing } = await publish(asked, store, CLOCK, () => {});
    expect([snapshot.revision, signing?.outcome]).toEqual([2, "signed"]);
  });
});

const CLOCK = { now: () => Date.parse("2026-11-22T12:05:00Z") };

/** A request for a store that has a catalog, with a new signing key. */
const requestOf = ({ session = "2026-11-21T00Z", ...run }: Run): PublishRequest => ({
  catalog: null,
  quotes: [sourceOf("quotes.csv", run.quotes as string)],
  closes: [],
  session: at(session),
  attribution: null,
  revise: run.revise ?? null,
  dryRun: false,
  gates: {
    maxMoveMicros: 50_000_000,
    minCoverageMicros: 0,
    maxUnchangedSessions: 8,
    maxCarryDays: run.maxCarryDays ?? 45,
    acceptMoves: true,
    allowSparse: true,
  },
  keys: {
    signingKey: parseSigningKey(newKeyPair().privatePem, "the test's key"),
    verifyKeys: null,
  },
});

const sourceOf = (name: string, text: string) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(text);
  },
});
