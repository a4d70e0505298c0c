/** Comparisons that a catalog offers: found by rule, so that they suit every catalog. Pure. */

/**
 * A contract or a segment in the body of `/contracts`.
 *
 * @typedef {{ id: string, name: string, segment: string, price_type: string | null, delisted_on: string | null }} Listed
 * @typedef {{ id: string, name: string }} Segment
 */

/** @param {string} name */
const wordsOf = (name) => name.toLowerCase().split(/[^\p{L}\p{N}]+/u);

/** @param {string} word @returns {(named: { name: string }) => boolean} */
const hasWord = (word) => (named) => wordsOf(named.name).includes(word);

/**
 * Spot against contract, DDR4 against DDR5, and DRAM against NAND, as far as the catalog has both sides.
 *
 * @param {readonly Listed[]} contracts
 * @param {readonly Segment[]} segments
 * @returns {{ name: string, hash: string }[]} `hash` is the fragment of the page's address
 */
export function presetsOf(contracts, segments) {
  const listed = contracts.filter(({ delisted_on: day }) => day === null);
  const spot = listed.filter(({ price_type: type }) => type === "spot");
  const traded = listed.filter(({ price_type: type }) => type === "contract");
  const pairs = [
    ["Spot against contract", nearestPair(spot, traded)],
    [
      "DDR4 against DDR5",
      nearestPair(listed.filter(hasWord("ddr4")), listed.filter(hasWord("ddr5"))),
    ],
  ];
  const [dram, nand] = ["dram", "nand"].map((word) => segments.find(hasWord(word)));
  const found = pairs.flatMap(([name, pair]) =>
    Array.isArray(pair) ? [{ name: String(name), hash: `ids=${pair.join(",")}` }] : [],
  );
  if (dram && nand)
    found.push({ name: "DRAM against NAND", hash: `indices=${dram.id},${nand.id}` });
  return found;
}

/**
 * The ids of the two contracts of one segment and way of pricing that share most words of their names; of equal ones the
 * first. Null: there are none.
 *
 * @param {readonly Listed[]} ones
 * @param {readonly Listed[]} others
 */
function nearestPair(ones, others) {
  let best = { shared: 0, pair: /** @type {[string, string] | null} */ (null) };
  const candidates = others.map((other) => ({ other, words: new Set(wordsOf(other.name)) }));
  for (const one of ones) {
    const words = wordsOf(one.name);
    for (const { other, words: known } of candidates) {
      if (one.segment !== other.segment) continue;
      const shared =
        words.filter((word) => known.has(word)).length / Math.max(words.length, known.size);
      if (shared > best.shared) best = { shared, pair: [one.id, other.id] };
    }
  }
  return best.pair;
}
