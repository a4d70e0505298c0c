/** Baskets in addresses, and JSON with each digit of its numbers. */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { basketQuery, basketUrl, readBasket, type Weighting } from "../../src/site/requests.js";
import { withDecimals } from "../../src/site/text.js";

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z0-9]{1,6}(-[a-z0-9]{1,6}){0,3}$/), {
  minLength: 1,
  maxLength: 20,
});
const amounts = fc.stringMatching(/^\d{1,9}(\.\d{1,9})?$/);
const baskets = fc.record({
  weighting: fc.constantFrom<Weighting>("weights", "quantities"),
  parts: ids.chain((list) =>
    fc
      .array(amounts, { minLength: list.length, maxLength: list.length })
      .map((given) => new Map(list.map((id, at) => [id, given[at] as string]))),
  ),
});

describe("a basket in an address", () => {
  test.prop([baskets])("comes back as it was", (basket) => {
    expect(readBasket(basketQuery(basket))).toEqual({ ...basket, leftOut: 0 });
  });

  test("without amounts all weigh the same, and each amount is 1 if that changes", () => {
    const read = readBasket("ids=a,b");
    expect(read).toEqual({
      weighting: "equal",
      parts: new Map([
        ["a", "1"],
        ["b", "1"],
      ]),
      leftOut: 0,
    });
    expect(basketQuery({ weighting: "equal", parts: read?.parts ?? new Map() })).toBe("ids=a,b");
  });

  test("former ids become present ones; a contract that stands there already is left out", () => {
    const presentIds = new Map([
      ["old", "new"],
      ["older", "new"],
    ]);
    expect(readBasket("ids=a,older,b,old,new&weights=1,2,3,4,5", presentIds)).toEqual({
      weighting: "weights",
      parts: new Map([
        ["a", "1"],
        ["new", "2"],
        ["b", "3"],
      ]),
      leftOut: 2,
    });
  });

  test("amounts that are missing or cannot be sent are empty", () => {
    const parts = new Map([
      ["a", "1"],
      ["b", ""],
      ["c", ""],
    ]);
    const basket = { weighting: "weights", parts } as const;
    expect(readBasket("ids=a,b,c&weights=1,-2")).toEqual({ ...basket, leftOut: 0 });
    expect(basketQuery({ ...basket, parts: new Map([...parts, ["b", "1,5"]]) })).toBe(
      "ids=a,b,c&weights=1,,",
    );
  });

  test.each(["", "content", "weights=1,2", "ids"])("%j names none", (query) => {
    const named = readBasket(query);
    expect(named === null || named.parts.size === 0).toBe(true);
  });

  test.prop([fc.string(), fc.string()])("no other text gets out of it again", (id, amount) => {
    const given = new URLSearchParams({ ids: id, quantities: amount });
    const read = readBasket(given.toString());
    expect(basketQuery(read ?? { weighting: "equal", parts: new Map() })).toMatch(
      /^(?:ids=[a-z0-9,-]+&quantities=[\d.,]*)?$/,
    );
  });

  test.each(["cbk_0123", "1,5", "1 5", "1e3", "-1", "+1", "½", "<b>", "$(date)"])(
    "%j is not sent as an amount",
    (amount) => {
      const basket = { weighting: "weights", parts: new Map([["a", amount]]) } as const;
      expect(basketQuery(basket)).toBe("ids=a&weights=");
    },
  );
});

test("an address of the service with quotation marks does not end the text of a program", () => {
  expect(basketUrl("http://h/it's", "ids=a,b&weights=1,2")).toBe(
    "http://h/it%27s/api/public/v1/index?ids=a,b&weights=1,2",
  );
});

describe("JSON with decimals", () => {
  test.prop([fc.json()])("differs from JSON in its numbers only", (json) => {
    const withTexts = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value), (_, item: unknown) =>
        typeof item === "number" ? String(item) : item,
      );
    expect(withDecimals(JSON.stringify(JSON.parse(json)))).toEqual(withTexts(JSON.parse(json)));
  });

  test("keeps every digit", () => {
    const json =
      '{"cost_usd":12345678901234567890.123456,"a\\"1":[-0.10,1e-9,{"b":"2.50 \\\\"}],"c":null}';
    expect(withDecimals(json)).toEqual({
      cost_usd: "12345678901234567890.123456",
      'a"1': ["-0.10", "1e-9", { b: "2.50 \\" }],
      c: null,
    });
  });
});
