/**
 * Guide, methodology and llms.txt as the proxy serves them: every link leads somewhere, pages and
 * Markdown say the same, and commands name the address of the service.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { UNCOUNTED_ROUTES } from "../../src/public/uncounted-routes.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { blocksOf } from "../docs/blocks.ts";

const PUBLIC_URL = "https://prices.example/feed";
const PAGES = ["/guide", "/methodology"];
const MARKDOWN = ["/guide.md", "/methodology.md", "/llms.txt"];

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy({ publicUrl: PUBLIC_URL });
});
afterAll(() => proxy.close());

const textAt = async (path: string): Promise<string> => {
  const { status, text } = await proxy.get(path);
  expect([path, status]).toEqual([path, 200]);
  return text;
};
const mainOf = (html: string): string => /<main[^>]*>([^]*)<\/main>/.exec(html)?.[1] ?? "";
const withoutCode = (markdown: string): string => markdown.replaceAll(/^```[^]*?^```$/gm, "");
const idsIn = (html: string): Set<string> =>
  new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));

/** Opens each link; those with an anchor must find it. */
async function expectToLead(from: string, links: readonly string[]): Promise<void> {
  const pages = new Map<string, Set<string>>();
  for (const link of new Set(links)) {
    const { href, hash } = new URL(link, PUBLIC_URL + from);
    expect(href.startsWith(`${PUBLIC_URL}/`), `${from} names ${link}`).toBe(true);
    const path = href.slice(PUBLIC_URL.length, href.length - hash.length);
    const ids = pages.get(path) ?? idsIn(await textAt(path));
    pages.set(path, ids);
    if (hash !== "") expect(ids, `${from} names ${link}`).toContain(hash.slice(1));
  }
}

test.each(PAGES)("%s: every link and anchor resolves", async (path) => {
  const html = mainOf(await textAt(path));
  const links = [...html.matchAll(/ href="([^"]*)"/g)].map(([, link = ""]) => link);
  expect(links.length).toBeGreaterThan(20);
  await expectToLead(path, links);
});

test.each(MARKDOWN)("%s: every link resolves", async (path) => {
  const text = withoutCode(await textAt(path));
  const links = [...text.matchAll(/\]\(([^)]*)\)/g)].map(([, link = ""]) => link);
  expect(links.length).toBeGreaterThan(4);
  // An anchor of the text itself is one of its page.
  const from = path.replace(/\.md$/, "");
  await expectToLead(from, links);
});

test.each(PAGES)("%s: page and Markdown have the same words and figures", async (path) => {
  const words = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const html = mainOf(await textAt(path))
    .replace(/<nav[^]*?<\/nav>/, "")
    .replaceAll(/<summary>[^]*?<\/summary>/g, "")
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
  const markdown = (await textAt(`${path}.md`))
    .replaceAll(/^```\w*$/gm, "")
    .replaceAll(/\]\([^)\s]*\)/g, "] ")
    .replaceAll(/^<.*$/gm, (drawing) => drawing.replaceAll(/<[^>]+>/g, " "))
    .replaceAll(/^\d+\. /gm, "");
  expect(words(markdown).length).toBeGreaterThan(1_000);
  expect(words(html)).toEqual(words(markdown));
});

describe("the address in commands", () => {
  test.each([...PAGES, ...MARKDOWN])("%s has the one that callers use", async (path) => {
    const text = await textAt(path);
    expect(text).not.toMatch(/\{\{/);
    expect(text).not.toContain("127.0.0.1");
    expect(text).toContain(PUBLIC_URL);
  });

  test("is that where the proxy listens, if none is set", async () => {
    const plain = await startTestProxy();
    try {
      for (const path of ["/guide", "/guide.md", "/llms.txt"]) {
        const { text } = await plain.get(path);
        expect(text.replaceAll(/<[^>]+>/g, "")).toContain(`${plain.url}/api/public/v1`);
      }
    } finally {
      await plain.close();
    }
  });
});

test.each([...PAGES, "/docs", "/changelog"])("%s: frame and text have one title", async (path) => {
  const html = await textAt(path);
  const heading = /<h1>(.*?)<\/h1>/.exec(mainOf(html))?.[1] ?? "";
  expect(heading).toMatch(/\w/);
  expect(html).toContain(`<title>${heading} · chipboard</title>`);
});

test("the types are Markdown's and plain text's", async () => {
  const types = await Promise.all(
    MARKDOWN.map(async (path) => (await proxy.get(path)).headers["content-type"]),
  );
  const markdown = "text/markdown; charset=utf-8";
  expect(types).toEqual([markdown, markdown, "text/plain; charset=utf-8"]);
});

/** A list has an item, and a note on the items left out. */
function expectShort(_name: string, value: unknown): unknown {
  if (Array.isArray(value)) expect(value.length).toBeLessThanOrEqual(2);
  return value;
}

describe("llms.txt", () => {
  test("has the form of llmstxt.org: title, summary, prose, lists of links", async () => {
    const [start = "", ...sections] = (await textAt("/llms.txt")).split(/^## .*$/m);
    expect(start).toMatch(/^# chipboard\n\n> \S.*\n\n[^#>]/);
    expect(withoutCode(start).match(/^#/gm)).toHaveLength(1);
    expect(sections.length).toBeGreaterThan(1);
    for (const section of sections) {
      for (const line of section.trim().split("\n")) {
        expect(line).toMatch(/^- \[[^\]]+\]\(https:\/\/[^)\s]+\): \S/);
      }
    }
  });

  test("shows the shape of each answer that is text, cut to one item of each list", async () => {
    const text = await textAt("/llms.txt");
    const shown = [...text.matchAll(/^`GET ([^`]+)`/gm)].map(([, address]) => address);
    const { contracts, publications, usage, status, readiness } = UNCOUNTED_ROUTES;
    const others = [contracts, publications, usage, status, readiness];
    for (const { path, body } of [...Object.values(DATA_ROUTES), ...others]) {
      if ("binary" in body) continue;
      const pattern = new RegExp(`^${path.replace("{id}", "[^/?]+")}(?:\\?|$)`);
      expect(shown).toContainEqual(expect.stringMatching(pattern));
    }
    for (const { language, text: answer } of blocksOf(text)) {
      if (language === "json") JSON.parse(answer, expectShort);
      else {
        // Header, row, and a note on further rows if there are more.
        expect(language).toBe("csv");
        expect([3, 4]).toContain(answer.split("\n").length);
      }
    }
  });
});
