/** How stored JSON is written. */
import { expect, test } from "vitest";
import { exactly, jsonText } from "../../src/lib/json.ts";

test("an element of an array that is in no other array has a line of its own", () => {
  const list = [{ id: "x", inner: [1, { deep: [2] }] }, { id: "y", inner: [] }, "z"];
  expect(jsonText({ first: null, list, none: [], below: { list: [3] } })).toBe(
    [
      '{"first":null,"list":[',
      '{"id":"x","inner":[1,{"deep":[2]}]},',
      '{"id":"y","inner":[]},',
      '"z"',
      '],"none":[],"below":{"list":[',
      "3",
      "]}}",
      "",
    ].join("\n"),
  );
});

test("a number keeps the digits that it was made of, and a member without a value is left out", () => {
  const digits = "123456789012345678.123456";
  expect(jsonText({ left: undefined, one: exactly("1.5"), list: [exactly(digits)] })).toBe(
    `{"one":1.5,"list":[\n${digits}\n]}\n`,
  );
});
