/**
 * Random numbers that are the same on every platform. They need only 32-bit integer operations and the
 * four basic operations of IEEE 754, whose results ECMA-262 defines to the last bit. It leaves
 * Math.exp, Math.log and others to the engine, so they are not used.
 */
const DEMO_SEED = 0x43_48_49_50;
/** √3 scales the sum of four uniforms less 2, whose variance is 1/3, to variance 1. */
const UNIT_VARIANCE = 1.7320508;

/** The largest magnitude that `createNoise` draws. */
export const NOISE_LIMIT = 2 * UNIT_VARIANCE;

/** A seed of 32 bits from a name: FNV-1a over its UTF-16 code units, starting from DEMO_SEED. */
export function seedOf(name: string): number {
  let hash = DEMO_SEED ^ 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** The step of the mulberry32 generator (public domain), whose mixing function `uniformAt` has. */
const WEYL_STEP = 0x6d2b79f5;

/** A number in [0, 1) for a seed and a place, independent of earlier draws. */
export function uniformAt(seed: number, place: number): number {
  const state = (seed + Math.imul(place, WEYL_STEP)) | 0;
  let word = Math.imul(state ^ (state >>> 15), state | 1);
  word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
  return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
}

/** Draws bell-shaped noise of mean 0 and variance 1, never beyond ±NOISE_LIMIT. */
export function createNoise(seed: number): () => number {
  let place = 0;
  const uniform = (): number => uniformAt(seed, (place += 1));
  return () => (uniform() + uniform() + uniform() + uniform() - 2) * UNIT_VARIANCE;
}
