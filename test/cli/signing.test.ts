/** `keys signing` and `publish --sign-key`, checked with openssl. */
import {
  chmodSync,
  chownSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, test } from "vitest";
import { testUnprivileged } from "../http/needed-tools.ts";
import { chipboard } from "../program/program.ts";
import { contentOf } from "./small-market.ts";
import { inProcess } from "./run.ts";
import {
  ENTRY,
  FIRST,
  opensslVerifies,
  SECOND,
  signatureIn,
  unsigned,
  workshop,
} from "./signed.ts";

test.each([
  ["publish", "--sign-key"],
  ["publish", "--verify-key"],
  ["serve", "--verify-key"],
  ["snapshots verify", "--verify-key"],
  ["snapshots rollback", "--sign-key"],
  ["snapshots rollback", "--verify-key"],
  ["snapshots prune", "--sign-key"],
  ["snapshots prune", "--verify-key"],
])("%s --help: %s and its variable", async (command, option) => {
  const { code, stdout } = await inProcess([...command.split(" "), "--help"]);
  const variable = `CHIPBOARD_${option.slice(2).toUpperCase().replace("-", "_")}`;
  expect([code, stdout.replace(/\s+/g, " ")]).toEqual([
    0,
    expect.stringMatching(new RegExp(`${option} <file> [^$]*env: ${variable}\\)`)),
  ]);
});

describe("keys signing", () => {
  test("creates a pair that openssl reads; only the owner can read the private key", async () => {
    const shop = workshop();
    const made = JSON.parse(await shop.must("keys signing --out @signing.pem --json"));
    expect(made).toEqual({
      algorithm: "ed25519",
      private_key: shop.path("signing.pem"),
      public_key: shop.path("signing.pem.pub"),
      public_key_pem: String(shop.bytes("signing.pem.pub")),
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(statSync(shop.path("signing.pem")).mode & 0o777).toBe(0o600);
    expect(statSync(shop.path("signing.pem.pub")).mode & 0o777).toBe(0o644 & ~process.umask());
    const { out } = await shop.openssl("pkey -in @signing.pem -pubout");
    expect(out).toBe(made.public_key_pem);
    await shop.openssl("pkey -pubin -in @signing.pem.pub -outform DER -out @signing.der");
    expect((await shop.openssl("dgst -sha256 -r @signing.der")).out).toContain(made.fingerprint);
  });

  test("prints the next steps, and needs no state", async () => {
    const shop = workshop();
    const { code, stdout } = await shop.say("keys signing --out @k", {
      CHIPBOARD_STATE: "redis://127.0.0.1:1/0",
    });
    expect(code).toBe(0);
    for (const next of [
      `publish --sign-key ${shop.path("k")} `,
      `serve --verify-key ${shop.path("k.pub")}\n`,
      `snapshots verify --verify-key ${shop.path("k.pub")}\n`,
    ]) {
      expect(stdout).toContain(`chipboard ${next}`);
    }
    expect(stdout).not.toContain("PRIVATE KEY");
  });

  test("overwrites no file, and leaves no half of a pair", async () => {
    const shop = workshop();
    await shop.must("keys signing --out @k");
    const before = [shop.bytes("k"), shop.bytes("k.pub")];
    const again = await shop.say("keys signing --out @k --json");
    expect([again.code, JSON.parse(again.stdout).error.exit_code]).toEqual([4, 4]);
    expect(again.stderr).toContain(`${shop.path("k")} exists, and keys are never overwritten`);
    expect([shop.bytes("k"), shop.bytes("k.pub")]).toEqual(before);
    writeFileSync(shop.path("other.pub"), "mine");
    const half = await shop.say("keys signing --out @other");
    expect([half.code, half.stderr]).toEqual([4, expect.stringContaining("other.pub exists")]);
    expect([existsSync(shop.path("other")), String(shop.bytes("other.pub"))]).toEqual([
      false,
      "mine",
    ]);
  });

  test("an impossible path: 2, and no file is created", async () => {
    const shop = workshop();
    const before = readdirSync(shop.path(""));
    const { code, stderr } = await shop.say("keys signing --out @none/k");
    expect([code, stderr]).toEqual([2, expect.stringContaining('--out "')]);
    expect(readdirSync(shop.path(""))).toEqual(before);
  });
});

describe("publish --sign-key", () => {
  test("openssl verifies the signature, which is all that is new", async () => {
    const shop = workshop();
    const { fingerprint } = JSON.parse(await shop.must("keys signing --out @k --json"));
    const published = await shop.publish(FIRST, "--sign-key @k --json");
    expect(JSON.parse(published.stdout)).toMatchObject({
      outcome: "published",
      signature: { outcome: "signed", fingerprint },
    });
    expect(await opensslVerifies(shop, "k.pub")).toBe(true);
    await shop.opensslKey("other");
    expect(await opensslVerifies(shop, "other.pub")).toBe(false);

    const made = await contentOf(shop.store);
    rmSync(shop.path("store"), { recursive: true });
    expect(JSON.parse((await shop.publish(FIRST, "--json")).stdout).signature).toBeNull();
    const plainContent = await contentOf(shop.store);
    const facts = (text = ""): unknown => ({ ...JSON.parse(unsigned(text)), at: "" });
    expect(facts(made[ENTRY(1)])).toEqual(facts(plainContent[ENTRY(1)]));
    expect({ ...made, [ENTRY(1)]: "" }).toEqual({ ...plainContent, [ENTRY(1)]: "" });
  });

  test("a key of openssl works, and openssl makes the same signature", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    const { stdout } = await shop.publish(FIRST, "--sign-key @k");
    expect(stdout).toContain(`\nSignature  by ${fingerprint}\n`);
    expect(await opensslVerifies(shop, "k.pub")).toBe(true);
    const made = await shop.openssl("pkeyutl -sign -inkey @k -rawin -in @message -out @signature");
    expect(made.code).toBe(0);
    expect(shop.bytes("signature").toString("base64")).toBe(
      signatureIn(String(shop.bytes(`store/${ENTRY(1)}`))),
    );
  });

  test("the environment can name the key", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    const feeds = `--catalog @catalog.csv --quotes @${FIRST}.csv --session ${FIRST}`;
    const env = { CHIPBOARD_SIGN_KEY: shop.path("k"), CHIPBOARD_VERIFY_KEY: shop.path("k.pub") };
    expect((await shop.say(`publish ${feeds}`, env)).code).toBe(0);
    expect((await shop.say("snapshots verify", env)).code).toBe(0);
  });

  test("a dry run reads the key, names the steps that it would take, and writes nothing", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    const planned = await shop.publish(FIRST, "--sign-key @k --dry-run");
    expect(planned.stdout).toContain(`\nSignature  would be by ${fingerprint}\n`);
    expect(existsSync(shop.path("store"))).toBe(false);
    expect((await shop.publish(FIRST, "--sign-key @none --dry-run")).code).toBe(2);
  });
});

describe("--sign-key refuses: 2, before anything is read or written", () => {
  test.each([
    ["a file that is missing", "", "cannot be read: ENOENT"],
    ["RSA", "genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out @x", 'of type "rsa"'],
    ["X25519", "genpkey -algorithm x25519 -out @x", 'of type "x25519"'],
    ["the public key", "pkey -in @k -pubout -out @x", "found a public key"],
    ["a key with a passphrase", "pkey -in @k -aes256 -passout pass:p -out @x", "is not supported"],
    ["DER", "pkey -in @k -outform DER -out @x", "found no PEM block"],
    [
      "a file of 2 MB",
      "rand -out @x 2000000",
      "expected keys (PEM), found more than 1000000 bytes",
    ],
  ])("%s", async (_name, command, found) => {
    const shop = workshop();
    await shop.opensslKey("k");
    if (command !== "") {
      expect((await shop.openssl(command)).code).toBe(0);
      chmodSync(shop.path("x"), 0o600);
    }
    const { code, stdout, stderr } = await shop.say("publish --quotes @none.csv --sign-key @x");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^error: --sign-key ".*": [^\n]*\n$/);
    expect(stderr).toContain(found);
    expect(existsSync(shop.path("store"))).toBe(false);
  });

  test("a folder, and a file that others can read, with the chmod command to run", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    expect((await shop.publish(FIRST, "--sign-key @store/..")).code).toBe(2);
    for (const options of ["--sign-key /dev/zero", "--sign-key @k --verify-key /dev/zero"]) {
      const { code, stderr } = await shop.publish(FIRST, options);
      expect([code, stderr]).toEqual([2, expect.stringContaining("found more than 1000000 bytes")]);
    }
    for (const mode of [0o644, 0o640, 0o604, 0o660, 0o602, 0o610]) {
      chmodSync(shop.path("k"), mode);
      const { code, stderr } = await shop.publish(FIRST, "--sign-key @k");
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`can be read by others (mode 0${mode.toString(8)})`),
      ]);
      expect(stderr).toContain(`chmod 600 "${shop.path("k")}"`);
    }
    chmodSync(shop.path("k"), 0o400);
    expect((await shop.publish(FIRST, "--sign-key @k")).code).toBe(0);
  });

  // Only root can give a file to another user.
  (process.geteuid?.() === 0 ? testUnprivileged() : test.skip)(
    "a file of another owner may be readable by its group, as mounted secrets are",
    async () => {
      const shop = workshop();
      await shop.opensslKey("k");
      chownSync(shop.path("k"), 65_534, 65_534);
      chmodSync(shop.path("k"), 0o440);
      expect((await shop.publish(FIRST, "--sign-key @k")).code).toBe(0);
      chmodSync(shop.path("k"), 0o444);
      expect((await shop.publish(SECOND, "--sign-key @k")).code).toBe(2);
      chmodSync(shop.path(""), 0o755);
      chmodSync(shop.path("k"), 0o440);
      const own = await chipboard(["publish", "--quotes", "-", "--sign-key", shop.path("k")], {
        unprivileged: true,
      });
      expect([own.code, own.stderr]).toEqual([2, expect.stringContaining("(mode 0440)")]);
    },
  );
});
