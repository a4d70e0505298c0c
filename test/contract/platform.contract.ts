/** The promises of every platform (src/ports/platform.ts), as tests over one. */
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { utf8 } from "../../src/lib/bytes.ts";
import type { Platform } from "../../src/ports/platform.ts";

/** FIPS 180-4, examples of SHA-256. */
const DIGESTS = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
] as const;

export function describePlatform(name: string, platform: Platform): void {
  describe(`${name} as a platform`, () => {
    test.each(DIGESTS)("the digest of %j", (text, digest) => {
      expect(platform.sha256(text)).toBe(digest);
      expect(platform.sha256(utf8(text))).toBe(digest);
      const hasher = platform.hasher();
      for (const character of text) hasher.update(utf8(character));
      expect(hasher.hex()).toBe(digest);
    });

    test("two hashers do not disturb each other", () => {
      const [first, second] = [platform.hasher(), platform.hasher()];
      first.update(utf8("ab"));
      second.update(utf8("a"));
      first.update(utf8("c"));
      second.update(utf8("bc"));
      expect([first.hex(), second.hex()]).toEqual([DIGESTS[1][1], DIGESTS[1][1]]);
    });

    test("random bytes are as many as asked for, and never the same", () => {
      const all = Array.from({ length: 1_000 }, () => platform.randomBytes(16));
      for (const bytes of all) expect(bytes).toHaveLength(16);
      expect(new Set(all.map(String)).size).toBe(all.length);
    });

    test.each(["fast", "best"] as const)(
      "gzip, %s: one member, the same each time",
      async (effort) => {
        const plain = utf8(
          Array.from({ length: 5_000 }, (_, at) => `row ${at % 97},${at}\r\n`).join(""),
        );
        const code = await platform.gzip(plain, effort);
        expect(gunzipSync(code).equals(plain)).toBe(true);
        expect(code.length).toBeLessThan(plain.length / 2);
        // RFC 1952, 2.3: no flags, and no time.
        expect([...code.subarray(0, 8)]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        expect(await platform.gzip(plain, effort)).toEqual(code);
        expect(gunzipSync(await platform.gzip(new Uint8Array(), effort))).toHaveLength(0);
      },
    );
  });
}
