/** How stored JSON is written, and the members that JSON.parse would lose. */
import { fc, test as property } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { exactly, jsonText, repeatedMembers } from "../../src/lib/json.ts";

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

test.each([
  ["[]", []],
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []],
  ['{"a":"a","b":"\\":","c":"\\\\","d":"{"}', []],
  ['{"spot_usd":12.5,"spot_usd":21.5}', ["spot_usd"]],
  ['{"a":1,"a":1,"b":2,"a":3}', ["a"]],
  ['{"a":{"b":1,"\\u0062":2},"c":[[{"x":1,"x":1}]],"a":1}', ["a.b", "c.x", "a"]],
  ['{ "a" \t:1,\r\n "a"\n:{} }', ["a"]],
  ['{"\\"":1,"\\\\":2,"\\"":3}', ['"']],
  ['{"":1,"":2,"__proto__":1,"__proto__":2}', ["", "__proto__"]],
])("the members that %s has more than once", (text, repeated) => {
  expect(repeatedMembers(text)).toEqual(repeated);
});

property.prop([fc.jsonValue(), fc.nat(4)])(
  "no value that JSON can hold repeats a member",
  (value, indent) => {
    expect(repeatedMembers(JSON.stringify(value, null, indent))).toEqual([]);
  },
);

test("a text of many repeated members names the first 100", () => {
  const members = Array.from({ length: 200 }, (_, n) => `"m${n}":1,"m${n}":2`);
  expect(repeatedMembers(`{${members.join(",")}}`)).toEqual(
    Array.from({ length: 100 }, (_, n) => `m${n}`),
  );
});
