/** Signed snapshots: what `verify --verify-key` refuses, and the other commands. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readHead } from "../../src/snapshot/publication-log.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { contentOf } from "../cli/market.ts";
import {
  FIRST,
  forgeHead,
  pointHeadTo,
  replace,
  SECOND,
  stored,
  workshop,
  type Workshop,
} from "../cli/signed.ts";

const OLD = `${FIRST}/r1`;
const HEAD = `${SECOND}/r1`;
const SIGNATURE = `sessions/${HEAD}/manifest.sig`;

/** FIRST and SECOND, both signed with the key `k`. */
async function signed(): Promise<{ shop: Workshop; fingerprint: string }> {
  const shop = workshop();
  const fingerprint = await shop.opensslKey("k");
  for (const session of [FIRST, SECOND]) {
    expect((await shop.publish(session, "--sign-key @k")).code).toBe(0);
  }
  return { shop, fingerprint };
}

/** The findings of `snapshots verify LINE`, which must end with 6; none if it ends with 0. */
async function findings(shop: Workshop, line: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await shop.say(`snapshots verify ${line} --json`);
  const said = JSON.parse(stdout);
  if (code === 0) return said.damages;
  expect([code, said.error.exit_code]).toEqual([6, 6]);
  expect(stderr.split("\n").slice(1, -1)).toEqual(
    said.error.details.map((text: string) => `  ${text}`),
  );
  return said.error.details;
}

const missing = (shop: Workshop, name: string, fingerprint: string): string =>
  `${shop.path("store")}/sessions/${name}/manifest.sig is missing: ${name} is unsigned, ` +
  `expected a signature by ${fingerprint}`;
const wrong = (shop: Workshop, name: string, ...fingerprints: string[]): string =>
  `${shop.path("store")}/sessions/${name}/manifest.sig does not fit ${name}: ` +
  `expected a signature by ${fingerprints.join(" or ")}`;

describe("verify --verify-key", () => {
  test("signed snapshots: 0, and the key is named", async () => {
    const { shop, fingerprint } = await signed();
    const one = await shop.must("snapshots verify --verify-key @k.pub");
    expect(one).toMatch(/^Whole: 2026-11-21T00Z\/r1, /);
    expect(one.endsWith(`\nSigned by ${fingerprint}: 1 of 1\n`)).toBe(true);
    const all = JSON.parse(await shop.must("snapshots verify --all --verify-key @k.pub --json"));
    expect(all).toMatchObject({
      whole: true,
      signatures: [
        { snapshot: OLD, fingerprint },
        { snapshot: HEAD, fingerprint },
      ],
    });
  });

  test("without a key signatures are accepted and not checked", async () => {
    const { shop } = await signed();
    await replace(shop.store, SIGNATURE, Buffer.alloc(64));
    const found = JSON.parse(await shop.must("snapshots verify --all --json"));
    expect([found.whole, found.signatures]).toEqual([true, []]);
  });

  test("unsigned snapshots; --all names each", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.publish(FIRST);
    await shop.publish(SECOND);
    const head = missing(shop, HEAD, fingerprint);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([head]);
    const old = missing(shop, OLD, fingerprint);
    expect(await findings(shop, "--all --verify-key @k.pub")).toEqual([old, head]);
    expect(await findings(shop, "--all")).toEqual([]);
  });

  test("an older snapshot can be signed by hand with openssl", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    await shop.publish(SECOND, "--sign-key @k");
    await shop.openssl(`dgst -sha256 -binary -out @digest @${stored(FIRST, "manifest.json")}`);
    const out = stored(FIRST, "manifest.sig");
    await shop.openssl(`pkeyutl -sign -inkey @k -rawin -in @digest -out @${out}`);
    expect(await findings(shop, "--all --verify-key @k.pub")).toEqual([]);
  });

  test("another key, and no signature at all", async () => {
    const { shop, fingerprint } = await signed();
    const other = await shop.opensslKey("other");
    expect(await findings(shop, "--verify-key @other.pub")).toEqual([wrong(shop, HEAD, other)]);
    const whole = (await shop.store.get(SIGNATURE)) as Buffer;
    for (const bytes of [
      Buffer.alloc(0),
      whole.subarray(0, 63),
      Buffer.concat([whole, whole]),
      Buffer.alloc(64),
      Buffer.from(whole.toString("hex")),
    ]) {
      await replace(shop.store, SIGNATURE, bytes);
      expect(await findings(shop, "--verify-key @k.pub")).toEqual([wrong(shop, HEAD, fingerprint)]);
    }
  });

  test("two keys in one file, during a change of keys", async () => {
    const shop = workshop();
    const [old, next] = [await shop.opensslKey("old"), await shop.opensslKey("next")];
    await shop.publish(FIRST, "--sign-key @old");
    await shop.publish(SECOND, "--sign-key @next");
    const both = Buffer.concat([shop.bytes("old.pub"), shop.bytes("next.pub")]);
    writeFileSync(shop.path("both.pub"), both);
    const said = await shop.must("snapshots verify --all --verify-key @both.pub");
    expect(said).toContain(`\nSigned by ${old}: 1 of 2\nSigned by ${next}: 1 of 2\n`);
    expect(await findings(shop, "--all --verify-key @next.pub")).toEqual([wrong(shop, OLD, next)]);
    const third = await shop.opensslKey("third");
    const others = Buffer.concat([shop.bytes("old.pub"), shop.bytes("third.pub")]);
    writeFileSync(shop.path("others.pub"), others);
    expect(await findings(shop, "--verify-key @others.pub")).toEqual([
      wrong(shop, HEAD, old, third),
    ]);
  });

  test("files without a public key: 2", async () => {
    const { shop } = await signed();
    await shop.openssl("genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out @rsa");
    await shop.openssl("pkey -in @rsa -pubout -out @rsa.pub");
    for (const [file, found] of [
      ["none", "cannot be read: ENOENT"],
      ["k", "found a private key"],
      ["rsa.pub", 'found a key of type "rsa"'],
      ["catalog.csv", "found no PEM block"],
    ]) {
      for (const command of ["verify", `rollback ${OLD} --reason x`]) {
        const { code, stderr } = await shop.say(`snapshots ${command} --verify-key @${file}`);
        expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --verify-key "/)]);
        expect(stderr).toContain(found);
      }
    }
  });
});

describe("an attacker who can write to the store but has no key", () => {
  test("a change of a file, its digest, the identity and the log: only the signature shows it", async () => {
    const { shop, fingerprint } = await signed();
    await forgeHead(
      shop.store,
      (text) => text.replaceAll("Contract a", "Contract z"),
      "report.html",
    );
    for (const which of ["", "--all"]) {
      expect(await findings(shop, which)).toEqual([]);
      expect(await findings(shop, `${which} --verify-key @k.pub`)).toEqual([
        wrong(shop, HEAD, fingerprint),
      ]);
    }
  });

  test("another snapshot's signature", async () => {
    const { shop, fingerprint } = await signed();
    const other = (await shop.store.get(`sessions/${OLD}/manifest.sig`)) as Buffer;
    await replace(shop.store, SIGNATURE, other);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([wrong(shop, HEAD, fingerprint)]);
  });

  test("another snapshot's manifest and signature, or a revision's under another number", async () => {
    const { shop } = await signed();
    const manifest = (await shop.store.get(`sessions/${OLD}/manifest.json`)) as Buffer;
    const signature = (await shop.store.get(`sessions/${OLD}/manifest.sig`)) as Buffer;
    await replace(shop.store, SIGNATURE, signature);
    await pointHeadTo(shop.store, manifest);
    const moved = [
      `${shop.path("store")}/sessions/${HEAD}/manifest.json is the manifest of ` +
        `2026-11-20T12:00:00.000Z r1, expected that of ${HEAD}`,
    ];
    for (const line of ["--verify-key @k.pub", "--all --verify-key @k.pub", "", "--all"]) {
      expect(await findings(shop, line)).toEqual(moved);
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
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([
      expect.stringContaining(
        `is the manifest of 2026-11-20T12:00:00.000Z r1, expected that of ${FIRST}/r2`,
      ),
    ]);
    expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(6);
  });

  test("an older signed snapshot as the head again passes, as after a rollback", async () => {
    const { shop } = await signed();
    expect((await shop.say(`snapshots rollback ${FIRST} --reason replay`)).code).toBe(0);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([]);
  });
});

describe("the other commands", () => {
  test("show says whether there is a signature", async () => {
    const { shop } = await signed();
    expect(await shop.must("snapshots show")).toMatch(/\nSigned +yes; verify --verify-key FILE /);
    expect(JSON.parse(await shop.must("snapshots show --json")).signed).toBe(true);
    await shop.store.delete(SIGNATURE);
    expect(await shop.must("snapshots show")).toMatch(/\nSigned +no\n/);
    expect(JSON.parse(await shop.must("snapshots show --json")).signed).toBe(false);
  });

  test("rollback needs no key, and signed snapshots still verify; with a key it requires a signature", async () => {
    const { shop, fingerprint } = await signed();
    await shop.opensslKey("other");
    const before = await contentOf(shop.store);
    const refused = await shop.say(
      `snapshots rollback ${FIRST} --reason wrong --verify-key @other.pub`,
    );
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("does not fit")]);
    expect(await contentOf(shop.store)).toEqual(before);
    await shop.must(`snapshots rollback ${FIRST} --reason wrong --verify-key @k.pub`);
    const said = await shop.must("snapshots verify --verify-key @k.pub");
    expect(said).toContain(`Whole: ${OLD}, `);
    expect(said).toContain(`Signed by ${fingerprint}: 1 of 1`);
    await shop.must("snapshots rollback head~1 --reason right");
    expect(await findings(shop, "--all --verify-key @k.pub")).toEqual([]);
  });

  test("ls and diff ignore signatures; prune removes a signature with its snapshot", async () => {
    const { shop } = await signed();
    const { publications } = JSON.parse(await shop.must("snapshots ls --json"));
    expect(publications).toHaveLength(2);
    const diff = JSON.parse(await shop.must("snapshots diff head~1 head --json"));
    expect(diff.repriced).toHaveLength(3);
    for (const usd of ["11.5", "11.75"]) {
      writeFileSync(shop.path("fix.csv"), `id,spot_usd\na,${usd}\n`);
      const line = `publish --quotes @fix.csv --session ${SECOND} --revise late --sign-key @k`;
      expect((await shop.say(line, { CHIPBOARD_NOW: "2026-11-21T02:05:00Z" })).code).toBe(0);
    }
    const later = { CHIPBOARD_NOW: "2099-01-01T00:00:00Z" };
    const pruned = await shop.say("snapshots prune --keep-days 0 --json", later);
    expect(JSON.parse(pruned.stdout).snapshots).toEqual([
      { name: OLD, orphan: false },
      { name: HEAD, orphan: false },
    ]);
    const left = Object.keys(await contentOf(shop.store)).filter((key) => /r1\//.test(key));
    expect(left).toEqual([]);
    const verified = await shop.must("snapshots verify --all --verify-key @k.pub --json");
    expect(JSON.parse(verified)).toMatchObject({
      pruned: [OLD, HEAD],
      signatures: [{ snapshot: `${SECOND}/r2` }, { snapshot: `${SECOND}/r3` }],
    });
  });
});
