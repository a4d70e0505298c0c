/** What the core needs of the machine: digests, random bytes and compression. Each host has an implementation. */

/** A SHA-256 over pieces. */
interface Hasher {
  update(piece: Uint8Array): void;
  /** The digest in lower-case hex; no piece comes after it. */
  hex(): string;
}

export interface Platform {
  /** SHA-256 (FIPS 180-4) in lower-case hex; of a text over its UTF-8. */
  sha256(data: string | Uint8Array): string;
  hasher(): Hasher;
  /** Random bytes that nobody can guess. */
  randomBytes(length: number): Uint8Array;
  /** One gzip member (RFC 1952), without a name and with time 0. "best": as small as possible; "fast": in half the time. */
  gzip(bytes: Uint8Array, effort: "fast" | "best"): Promise<Uint8Array>;
}
