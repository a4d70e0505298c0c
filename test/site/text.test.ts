/** Short dates, and text out of HTML. */
import { expect, test } from "vitest";
import { makeStatus } from "../../src/core/publications/session-status.ts";
import { textOf } from "../../src/lib/bytes.ts";
import { statusPage } from "../../src/pages/status-page.ts";
import { dayText } from "../../src/site/axis.js";
import { placeLine } from "../../src/site/board.js";
import { escaped, readableText, unescaped } from "../../src/site/text.js";
import { publishOf } from "../unit/publications.ts";

test("September has three letters wherever a date is short", () => {
  const session_utc = "2026-09-01T12:00:00.000Z";
  expect(dayText("2026-09-01")).toBe("1 Sep 2026");
  expect(readableText(`Not before ${session_utc}.`)).toBe("Not before 1 Sep 2026, 12:00 UTC.");
  expect(placeLine({ session_utc, delayed_sessions: 0 }, 0)).toContain(">1 Sep, 12:00 UTC</time>");
  const graceMs = 3_600_000;
  const publications = [publishOf(1, "2026-09-01T12Z")];
  const status = makeStatus({ publications, overdue: 0, graceMs }, Date.parse(session_utc));
  const page = textOf(statusPage(status, graceMs, undefined).body);
  expect(page).toContain('<span class="day"><span>Sep</span><span>1</span>');
});

test("escaped text comes back, if it is HTML itself too", () => {
  for (const text of ["a < b & c > d", `"it's"`, "&amp;lt; &#39; &copy;", "$& $1"]) {
    expect(unescaped(escaped(text))).toBe(text);
    expect(unescaped(escaped(escaped(text)))).toBe(escaped(text));
  }
});
