/** Secrets in texts that are published, or shown in messages. */
import { expect, test } from "vitest";
import { secretIn, shownLocation, withoutSecrets } from "../../src/lib/secrets.ts";

const USER = "a user or a password";
const LINK = `lnk_${"0aZ".repeat(14)}b`;
const KEY = `cbk_${"0aZ".repeat(16)}b`;

test.each([
  ["https://user:pass@example.com/a", USER, "https://***@example.com/a"],
  ["https://user@example.com", USER, "https://***@example.com"],
  ["https://u:p@ss@example.com/a", USER, "https://***@example.com/a"],
  ["http://u:p@127.0.0.1:99999/a", USER, "http://***@127.0.0.1:99999/a"],
  ["see ftp://u:p@example.com, daily", USER, "see ftp://***@example.com, daily"],
  ["https:\\\\u:p@example.com", USER, "https:\\\\***@example.com"],
  [
    "https://e.example/a?api_key=0123&b=1",
    "the parameter api_key",
    "https://e.example/a?api_key=***&b=1",
  ],
  ["https://e.example?b=1&KEY=2", "the parameter KEY", "https://e.example?b=1&KEY=***"],
  ["https://e.example?apiKey=1", "the parameter apiKey", "https://e.example?apiKey=***"],
  ["https://e.example?api%5Fkey=1", "the parameter api_key", "https://e.example?api%5Fkey=***"],
  ["https://e.example?b=1;token=2", "the parameter token", "https://e.example?b=1;token=***"],
  [
    "https://e.example#access_token=1",
    "the parameter access_token",
    "https://e.example#access_token=***",
  ],
  ["https://e.example/#/b?sig=1", "the parameter sig", "https://e.example/#/b?sig=***"],
  ["e.example?registrationkey=1", "the parameter registrationkey", "e.example?registrationkey=***"],
  [
    "https://e.example?u=https%3A%2F%2Fu%3Ap%40f.example%2F",
    USER,
    "https://e.example?u=https://***@f.example/",
  ],
  [
    "https://e.example?u=https://f.example?key=1",
    "the parameter key",
    "https://e.example?u=https://f.example?key=***",
  ],
  [`https://e.example/l/${LINK}.csv`, "a link with its token", "https://e.example/l/lnk_***.csv"],
  [`as ${KEY} sees it`, "an API key", "as cbk_*** sees it"],
])("%s", (text, secret, shown) => {
  expect([secretIn(text), withoutSecrets(text)]).toEqual([secret, shown]);
});

test.each([
  "key api_key apikey api-key X-Api-Key ApiKey APIKEY access_key AWSAccessKeyId serviceKey crtfc_key",
  "token access_token accesstoken X-Amz-Security-Token sig signature X-Amz-Signature hmac",
  "secret client_secret clientsecret password passwd pwd X-Amz-Credential auth authorization jwt",
])("parameters that look like a key: %s", (names) => {
  const missed = names
    .split(" ")
    .filter((name) => secretIn(`https://e.example?${name}=1`) === null);
  expect(missed).toEqual([]);
});

test.each([
  "https://example.com/@user/a?b=c@d",
  "https://example.com/a?sort=key&keyword=b&monkey=c&tokens=3&design=d&passage=e",
  "https://example.com/a?key=&b=1",
  "https://[::1]:8080/key=1/token",
  "HBM: 2 suppliers; price = 5 & key = high",
  "a@example.com",
  "",
])("%s holds none", (text) => {
  expect([secretIn(text), withoutSecrets(text)]).toEqual([null, text]);
});

test("a long text takes time in proportion to its length", () => {
  const pieces = ["://", "?a=%3Fa=", "/", "a@", "%25", "?a=", ":/", "a", ";key=", "cbk_"];
  for (const piece of pieces) {
    const text = `https://e.example?${piece.repeat(1_000_000 / piece.length)}`;
    expect(withoutSecrets(text).length).toBeLessThanOrEqual(text.length);
  }
});

test.each([
  ["redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"],
  ["rediss://u:p@redis.internal:6380", "rediss://***@redis.internal:6380"],
  ["redis://[::1]:6379/0?family=6", "redis://[::1]:6379/0?family=6"],
  ["redis://:a/b#c?d@e%f@host:1/0", "redis://***@host:1/0"],
  ["redis://default:password", "redis://***"],
  ["redis://host/password", "redis://***"],
  ['"redis://:p@host"', '"redis://***@***'],
  ["s3://bucket/some/prefix", "s3://bucket/some/prefix"],
  ["s3://KEY:se/cret@bucket/prefix", "s3://***@bucket/prefix"],
  ["https://u:p/q@feed.example/a.csv?key=1", "https://***@feed.example/a.csv?key=***"],
  ["./a@b/state", "./a@b/state"],
  ["/srv/prices:new/@home", "/srv/prices:new/@home"],
])("the location %s is shown as %s", (location, shown) => {
  expect(shownLocation(location)).toBe(shown);
});
