/** The signed log: what `verify --verify-key` refuses, and the other commands. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { publicationKey, PUBLICATIONS } from "../../src/store/paths.ts";
import { contentOf } from "../cli/small-market.ts";
import {
  changeEntry,
  ENTRY,
  FIRST,
  opensslVerifies,
  SECOND,
  signatureIn,
  signedAs,
  unsigned,
  workshop,
} from "../cli/signed.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { publishSession, SESSION, sessionsMs, TestClock } from "../http/fixture.ts";
import { CLOCK_MS, OPERATOR, rollBackTo, signedStore, SNAPSHOTS } from "../http/signed-log.ts";
import { findings, HEAD, missing, OLD, signed, wrong } from "./signing-findings.ts";

describe("verify --verify-key", () => {
  test("a signed log: 0, and the key is named", async () => {
    const { shop, fingerprint } = await signed();
    const one = await shop.must("snapshots verify --verify-key @k.pub");
    expect(one).toMatch(/^Whole: 2026-11-21T00Z\/r1, .*\nLog: 2 entries, each linked /);
    expect(one.endsWith(`\nSigned by ${fingerprint}: 1 entry, the last is 2\n`)).toBe(true);
    const all = JSON.parse(await shop.must("snapshots verify --all --verify-key @k.pub --json"));
    expect(all).toMatchObject({
      whole: true,
      entries: 2,
      signatures: [
        { number: 1, snapshot: OLD, fingerprint },
        { number: 2, snapshot: HEAD, fingerprint },
      ],
    });
  });

  test("without a key signatures are accepted and not checked", async () => {
    const { shop } = await signed();
    await changeEntry(shop.store, 2, (text) => signedAs(text, `${"A".repeat(86)}==`));
    const found = JSON.parse(await shop.must("snapshots verify --all --json"));
    expect([found.whole, found.signatures]).toEqual([true, []]);
  });

  test("an unsigned log; the newest signature vouches for unsigned entries before it", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.publish(FIRST);
    await shop.publish(SECOND);
    for (const which of ["", "--all", FIRST]) {
      const line = `${which} --verify-key @k.pub`;
      expect(await findings(shop, line)).toEqual([missing(shop, 2, fingerprint)]);
    }
    expect(await findings(shop, "--all")).toEqual([]);
    await shop.must(`snapshots rollback ${FIRST} --reason signed --sign-key @k`);
    for (const which of ["", "--all", SECOND]) {
      expect(await findings(shop, `${which} --verify-key @k.pub`)).toEqual([]);
    }
  });

  test("a snapshot that the log does not name", async () => {
    const { shop } = await signed();
    const content = await contentOf(shop.store);
    for (const [key, text] of Object.entries(content)) {
      if (!key.startsWith(`sessions/${OLD}/`)) continue;
      const bytes = Buffer.from(text, "latin1");
      const copied = String(bytes).replace('"revision": 1', '"revision": 2');
      const isManifest = key.endsWith("manifest.json");
      const to = key.replace(`${FIRST}/r1`, `${FIRST}/r2`);
      await shop.store.create(to, isManifest ? Buffer.from(copied) : bytes);
    }
    expect(await findings(shop, `${FIRST}/r2`)).toEqual([]);
    const unnamed = `the log does not name ${FIRST}/r2, so nobody signed it`;
    expect(await findings(shop, `${FIRST}/r2 --verify-key @k.pub`)).toEqual([
      `${shop.path("store")}: ${unnamed}`,
    ]);
    const line = `snapshots rollback ${FIRST}/r2 --reason x`;
    const refused = await shop.say(`${line} --sign-key @k --verify-key @k.pub`);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining(`${FIRST}/r2 is not in the signed log`),
    ]);
  });

  test("another key, and no signature at all", async () => {
    const { shop, fingerprint } = await signed();
    const other = await shop.opensslKey("other");
    expect(await findings(shop, "--verify-key @other.pub")).toEqual([wrong(shop, 2, other)]);
    const first = String(await shop.store.get(ENTRY(1)));
    for (const bad of [`${"A".repeat(86)}==`, signatureIn(first)]) {
      await changeEntry(shop.store, 2, (text) => signedAs(text, bad));
      expect(await findings(shop, "--verify-key @k.pub")).toEqual([wrong(shop, 2, fingerprint)]);
    }
    for (const bad of ["", "AAAA", `${"A".repeat(86)}=`, `${"A".repeat(85)}B==`, "A".repeat(88)]) {
      await changeEntry(shop.store, 2, (text) => signedAs(text, bad));
      const damaged = `${shop.path("store")}/${ENTRY(2)} is not an entry of the log`;
      expect(await findings(shop, "--verify-key @k.pub")).toContain(damaged);
    }
  });

  test("two keys in one file, during a change of keys", async () => {
    const shop = workshop();
    const [old, next] = [await shop.opensslKey("old"), await shop.opensslKey("next")];
    await shop.publish(FIRST, "--sign-key @old");
    const both = Buffer.concat([shop.bytes("old.pub"), shop.bytes("next.pub")]);
    writeFileSync(shop.path("both.pub"), both);
    const line = "--sign-key @next --verify-key";
    expect((await shop.publish(SECOND, `${line} @next.pub`)).code).toBe(6);
    expect((await shop.publish(SECOND, `${line} @both.pub`)).code).toBe(0);
    const said = await shop.must("snapshots verify --all --verify-key @both.pub");
    expect(said).toContain(
      `\nSigned by ${old}: 1 entry, the last is 1\nSigned by ${next}: 1 entry, the last is 2\n`,
    );
    expect(await findings(shop, "--verify-key @next.pub")).toEqual([]);
    expect(await findings(shop, "--all --verify-key @next.pub")).toEqual([wrong(shop, 1, next)]);
    const third = await shop.opensslKey("third");
    const others = Buffer.concat([shop.bytes("old.pub"), shop.bytes("third.pub")]);
    writeFileSync(shop.path("others.pub"), others);
    expect(await findings(shop, "--verify-key @others.pub")).toEqual([wrong(shop, 2, old, third)]);
  });

  test("--remember: a log that was cut off, replaced or emptied", async () => {
    const { shop } = await signed();
    const line = "--verify-key @k.pub --remember @seen";
    const said = await shop.must(`snapshots verify ${line}`);
    expect(said.endsWith(`\n${shop.path("seen")} remembers entry 2 of the log\n`)).toBe(true);
    const seen = shop.bytes("seen");
    const other = workshop();
    writeFileSync(other.path("k"), shop.bytes("k"), { mode: 0o600 });
    for (const session of [FIRST, SECOND]) {
      expect((await other.publish(session, "--sign-key @k --attribution Other")).code).toBe(0);
    }
    const [another] = await findings(
      other,
      `--verify-key ${shop.path("k.pub")} --remember ${shop.path("seen")}`,
    );
    expect(another).toMatch(/^Entry 2 of the log has the SHA-256 .*, and the one seen before has/);
    for (const number of [2, 1]) {
      await shop.store.delete(ENTRY(number));
      expect(await findings(shop, line)).toEqual([
        `The log ends with entry ${number - 1}, and entry 2 was seen before: ` +
          "the log was cut off, or an older one is shown",
      ]);
    }
    expect(shop.bytes("seen")).toEqual(seen);
    for (const text of ["", "{}"]) {
      writeFileSync(shop.path("seen"), text);
      const { code, stderr } = await shop.say(`snapshots verify ${line}`);
      expect([code, stderr]).toEqual([2, expect.stringContaining("expected a file of an earlier")]);
    }
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
      const appending = [`rollback ${OLD} --reason x`, "prune --keep-days 9"];
      for (const command of ["verify", ...appending.map((line) => `${line} --sign-key @k`)]) {
        const { code, stderr } = await shop.say(`snapshots ${command} --verify-key @${file}`);
        expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --verify-key "/)]);
        expect(stderr).toContain(found);
      }
    }
  });
});

describe("the other commands", () => {
  test("show says whether the snapshot's entry is signed", async () => {
    const { shop } = await signed();
    expect(await shop.must("snapshots show")).toMatch(/\nSigned +yes; verify --verify-key FILE /);
    expect(JSON.parse(await shop.must("snapshots show --json")).signed).toBe(true);
    await changeEntry(shop.store, 2, unsigned);
    expect(await shop.must("snapshots show")).toMatch(/\nSigned +no\n/);
    expect(JSON.parse(await shop.must("snapshots show --json")).signed).toBe(false);
  });

  test("rollback and prune sign their entries, and say so", async () => {
    const { shop, fingerprint } = await signed();
    const keys = "--sign-key @k --verify-key @k.pub";
    const rolled = JSON.parse(
      await shop.must(`snapshots rollback ${FIRST} --reason wrong ${keys} --json`),
    );
    expect(rolled).toMatchObject({ publication: 3, signature: { outcome: "signed", fingerprint } });
    expect(await opensslVerifies(shop, "k.pub", 3)).toBe(true);
    const again = await shop.must(`snapshots rollback head --reason wrong ${keys} --json`);
    expect(JSON.parse(again)).toMatchObject({ outcome: "unchanged", signature: null });
    for (const feed of [SECOND, FIRST]) {
      const line = `publish --quotes @${feed}.csv --session ${SECOND} --revise late ${keys}`;
      expect((await shop.say(line, { CHIPBOARD_NOW: "2026-11-21T02:05:00Z" })).code).toBe(0);
    }
    const before = await contentOf(shop.store);
    const later = { CHIPBOARD_NOW: "2026-11-22T00:05:00Z" };
    const line = `snapshots prune --keep-days 0 ${keys}`;
    const planned = await shop.say(`${line} --dry-run --json`, later);
    expect(JSON.parse(planned.stdout)).toMatchObject({ dry_run: true, signature: null });
    expect(await contentOf(shop.store)).toEqual(before);
    const pruned = await shop.say(line, later);
    expect(pruned.stdout).toContain(`\nSigned by ${fingerprint}\n`);
    expect(await opensslVerifies(shop, "k.pub", 6)).toBe(true);
    expect(await findings(shop, "--all --verify-key @k.pub")).toEqual([]);
  });

  test("rollback without a key leaves its entry unsigned; with both it requires a signed log", async () => {
    const { shop, fingerprint } = await signed();
    await shop.opensslKey("other");
    const before = await contentOf(shop.store);
    const refused = await shop.say(
      `snapshots rollback ${FIRST} --reason wrong --sign-key @other --verify-key @other.pub`,
    );
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("does not fit")]);
    expect(await contentOf(shop.store)).toEqual(before);
    await shop.must(`snapshots rollback ${FIRST} --reason wrong`);
    expect(await findings(shop, "--verify-key @k.pub")).toEqual([missing(shop, 3, fingerprint)]);
    await shop.must(`snapshots rollback ${SECOND} --reason again --sign-key @k`);
    expect(await findings(shop, "--all --verify-key @k.pub")).toEqual([]);
  });

  test("with keys, a rollback and a publish read only the end of the log, and a publish lists it once", async () => {
    const inner = await signedStore();
    for (const at of [1, 2, 1, 2, 1, 2, 1] as const) {
      await rollBackTo(inner, SNAPSHOTS[at], OPERATOR);
    }
    const keys = { signingKey: OPERATOR, verifyKeys: [OPERATOR.verifyKey] };
    const clock = new TestClock(CLOCK_MS);
    for (const ahead of [2, 3, 4]) {
      clock.ms += sessionsMs(1);
      await publishSession(inner, clock, SESSION + ahead, { usd: 13 + ahead / 10, keys });
    }
    const read = new Set<string>();
    let lists = 0;
    const store = new InterceptedStore(inner, ({ kind, key }, run) => {
      if (kind === "get" && /^publications.*json$/.test(key)) read.add(key);
      if (kind === "list" && key === PUBLICATIONS) lists += 1;
      return run();
    });
    await rollBack(store, "head~1", "back", clock, keys);
    // Entry 10 is from before the session that is the head now; a few are read at once.
    expect(read).toEqual(new Set([7, 8, 9, 10, 11, 12, 13].map(publicationKey)));
    read.clear();
    lists = 0;
    clock.ms += sessionsMs(1);
    await publishSession(store, clock, SESSION + 5, { usd: 14, keys });
    // Once more by the test itself, which would mark a new store.
    expect([read, lists]).toEqual([new Set([publicationKey(14)]), 2]);
  });

  test("ls and diff ignore signatures; a prune leaves the log's signatures", async () => {
    const { shop, fingerprint } = await signed();
    const { publications } = JSON.parse(await shop.must("snapshots ls --json"));
    expect(publications).toHaveLength(2);
    const diff = JSON.parse(await shop.must("snapshots diff head~1 head --json"));
    expect(diff.repriced).toHaveLength(3);
    for (const usd of ["11.5", "11.75"]) {
      writeFileSync(shop.path("fix.csv"), `id,spot_usd\na,${usd}\n`);
      const line = `publish --quotes @fix.csv --session ${SECOND} --revise late --sign-key @k`;
      expect((await shop.say(line, { CHIPBOARD_NOW: "2026-11-21T02:05:00Z" })).code).toBe(0);
    }
    const later = { CHIPBOARD_NOW: "2026-11-22T00:05:00Z" };
    const pruned = await shop.say("snapshots prune --keep-days 0 --sign-key @k --json", later);
    expect(JSON.parse(pruned.stdout)).toMatchObject({
      snapshots: [
        { name: OLD, orphan: false },
        { name: HEAD, orphan: false },
      ],
      signature: { outcome: "signed", fingerprint },
    });
    const left = Object.keys(await contentOf(shop.store)).filter((key) => /r1\//.test(key));
    expect(left).toEqual([]);
    const verified = await shop.must("snapshots verify --all --verify-key @k.pub --json");
    const snapshots = [OLD, HEAD, `${SECOND}/r2`, `${SECOND}/r3`, null];
    expect(JSON.parse(verified)).toMatchObject({
      pruned: [OLD, HEAD],
      signatures: snapshots.map((snapshot, at) => ({ number: at + 1, snapshot, fingerprint })),
    });
  });
});
