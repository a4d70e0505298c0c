/** The programs and files of the page about alerts, as they stand there. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceText } from "../../src/docs/source-texts.ts";
import { slotValues } from "../../src/pages/document-pages.ts";
import { fillSlots } from "../../src/pages/document-slots.ts";
import { blocksOf, type Block } from "../docs/blocks.ts";
import { FREE_IDS, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { under } from "./guide-texts.ts";
import { run } from "./programs.ts";

let proxy: TestProxy;
let folder: string;
let page: string;
beforeAll(async () => {
  proxy = await startTestProxy();
  folder = await mkdtemp(join(tmpdir(), "chipboard-alerts-page-"));
  const slots = slotValues({ origin: proxy.url, graceMs: 3_600_000 }, null, null);
  const [one = "", two = ""] = FREE_IDS;
  page = fillSlots(sourceText("alerts-text.md"), {
    ...slots,
    "contract-1": one,
    "contract-2": two,
  });
  await inShell("Start", 0);
  await writeFile(join(folder, "rules.json"), block("Start", "json", 0));
});
test("the levels of the rules are near the level that is served", async () => {
  const { text } = await proxy.get("/alerts");
  const [example = ""] = /\{&quot;id.*?below.*?\}|\{"id.*?below.*?\}/s.exec(text) ?? [];
  const plain = example.replaceAll(/<[^>]*>/g, "").replaceAll("&quot;", '"');
  const served = await proxy.get(`/api/public/v1/prices/${FREE_IDS[0]}`);
  expect(JSON.parse(served.text).spot_usd).toBeCloseTo(10.1, 0);
  expect(JSON.parse(plain)).toEqual({ id: FREE_IDS[0], above: 11, below: 9.1 });
});

afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true });
});

const block = (heading: string, language: string, at: number): string => {
  const blocks: Block[] = blocksOf(under(page, heading));
  return blocks.filter((each) => each.language === language)[at]?.text ?? "";
};

async function printed(program: string, ...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await run(program, args, folder, proxy.pro);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.split("\n").filter((line) => line !== "");
}

const inShell = (heading: string, at: number, before = ""): Promise<string[]> =>
  printed("sh", "-ec", before + block(heading, "sh", at));

testWith("python3")(
  "the start, Python and an e-mail by a command tell what holds, each once",
  async () => {
    const told = (await inShell("Start", 1)).map((line) => JSON.parse(line));
    // The levels are 11 USD, and a rule of the page is for more than 5.5.
    expect(told).toContainEqual(
      expect.objectContaining({ event: "above", id: "dram-0", value: 11 }),
    );
    expect(await inShell("Start", 1)).toEqual([]);
    await rm(join(folder, "alerts.json"));
    const lines = await printed("python3", "-Bc", block("In Python", "python", 0));
    expect(lines).toEqual([
      expect.stringMatching(/^\w{24} Contract dram-0 \(dram-0\) is above 5\.5: 11 USD/),
    ]);
    await rm(join(folder, "alerts.json"));
    await writeFile(join(folder, "mail"), '#!/bin/sh\necho "$@" >> mails\n', { mode: 0o755 });
    await inShell(
      "A command, such as e-mail",
      0,
      'export CHIPBOARD_KEY="$KEY" PATH="$PWD:$PATH"\n',
    );
    const mails = (await readFile(join(folder, "mails"), "utf8")).trimEnd().split("\n");
    expect(mails).toContainEqual(expect.stringMatching(/^-s Contract dram-0 .* you@example\.com$/));
  },
);
