/** The programs that people call an API with: curl, wget, Python's urllib. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { testWith } from "./needed-tools.ts";

const API = "/api/public/v1";
const run = promisify(execFile);

let proxy: TestProxy;
let folder: string;
beforeAll(async () => {
  proxy = await startTestProxy();
  folder = await mkdtemp(join(tmpdir(), "chipboard-clients-"));
});
afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

const output = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args, { encoding: "utf8", cwd: folder })).stdout;

describe("curl", () => {
  testWith("curl")("reads a board, compressed, with either key field", async () => {
    const bearer = ["-H", `Authorization: Bearer ${proxy.pro}`];
    const board = JSON.parse(
      await output("curl", "-sS", "--compressed", "--fail", ...bearer, `${proxy.url}${API}/prices`),
    );
    expect(board.counts).toEqual({ memory: 14, semiconductor: 1 });
    const usage = JSON.parse(
      await output("curl", "-sS", "-H", `x-api-key: ${proxy.starter}`, `${proxy.url}${API}/usage`),
    );
    expect(usage.account).toBe("small");
  });

  testWith("curl")("saves a download under its name, and revalidates it with its tag", async () => {
    const key = [
      "-sS",
      "-H",
      `x-api-key: ${proxy.pro}`,
      "--etag-save",
      "etag",
      "--etag-compare",
      "etag",
    ];
    await output("curl", ...key, "-OJ", `${proxy.url}${API}/export.csv`);
    const csv = await readFile(join(folder, "chipboard-2026-11-21T00Z-pro.csv"), "utf8");
    expect(csv.split("\r\n")).toHaveLength(17);
    const again = await output(
      "curl",
      ...key,
      "-o",
      "again",
      "-w",
      "%{http_code}",
      `${proxy.url}${API}/export.csv`,
    );
    expect(again).toBe("304");
  });

  testWith("curl")("HEAD, and the status of a refusal", async () => {
    const head = await output("curl", "-sSI", `${proxy.url}${API}/prices`);
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(head).toMatch(/x-ratelimit-remaining: \d+\r\n/);
    await expect(output("curl", "-sS", "--fail", `${proxy.url}${API}/index`)).rejects.toThrow(
      /401/,
    );
    const plain = await output("curl", "-sS", "--http1.0", `${proxy.url}${API}/prices/dram-0`);
    expect(JSON.parse(plain).id).toBe("dram-0");
  });
});

testWith("wget")(
  "wget takes the server's name for the workbook, and does not fetch it twice",
  async () => {
    const args = ["-q", "--content-disposition", "--header", `Authorization: Bearer ${proxy.pro}`];
    await output("wget", ...args, `${proxy.url}${API}/export.xlsx`);
    const bytes = await readFile(join(folder, "chipboard-2026-11-21T00Z-pro.xlsx"));
    expect(bytes.subarray(0, 2).toString()).toBe("PK");
    const refused = run("wget", ["-S", "-O", "-", `${proxy.url}${API}/export.xlsx`], {
      cwd: folder,
    });
    await expect(refused).rejects.toThrow(/401 Unauthorized/);
  },
);

testWith("python3")("Python's urllib reads data, and refusals as errors with a body", async () => {
  await writeFile(
    join(folder, "read.py"),
    `import json, sys, urllib.error, urllib.request
url, key = sys.argv[1:]
request = urllib.request.Request(url + "/index", headers={"x-api-key": key})
with urllib.request.urlopen(request) as answer:
    index, left = json.load(answer), answer.headers["x-ratelimit-remaining"]
try:
    urllib.request.urlopen(url + "/index")
except urllib.error.HTTPError as error:
    refusal = [error.code, json.load(error)["code"], error.headers["www-authenticate"]]
print(json.dumps({"name": index["name"], "left": left, "refusal": refusal}))
`,
  );
  const text = await output("python3", "read.py", proxy.url + API, proxy.starter);
  expect(JSON.parse(text)).toEqual({
    name: "composite",
    left: "24999",
    refusal: [401, "key_required", "Bearer"],
  });
});

describe("the key in Basic credentials", () => {
  testWith("curl")("curl -u, with the key before and after the colon", async () => {
    const usage = `${proxy.url}${API}/usage`;
    for (const user of [`:${proxy.pro}`, `${proxy.pro}:`, `anybody:${proxy.pro}`]) {
      expect(JSON.parse(await output("curl", "-sS", "-u", user, usage)).account).toBe("large");
    }
    const address = usage.replace("//", `//:${proxy.starter}@`);
    expect(JSON.parse(await output("curl", "-sS", address)).account).toBe("small");
    const refused = await output("curl", "-sS", "-i", "-u", "user:pass", usage);
    expect(refused).toMatch(/^HTTP\/1\.1 401 /);
    expect(refused.match(/^www-authenticate: .*$/gim)).toEqual([
      'www-authenticate: Bearer error="invalid_token"',
    ]);
  });

  testWith("wget")("wget --auth-no-challenge --password", async () => {
    const args = ["-q", "-O", "-", "--auth-no-challenge", "--user=", `--password=${proxy.pro}`];
    const csv = await output("wget", ...args, `${proxy.url}${API}/export.csv`);
    expect(csv.split("\r\n")).toHaveLength(17);
  });

  testWith("python3")("Python's urllib", async () => {
    const script = `import base64, json, sys, urllib.request
url, key = sys.argv[1:]
credentials = base64.b64encode((":" + key).encode()).decode()
request = urllib.request.Request(url, headers={"Authorization": "Basic " + credentials})
print(json.load(urllib.request.urlopen(request))["account"])
`;
    const text = await output("python3", "-c", script, `${proxy.url}${API}/usage`, proxy.starter);
    expect(text).toBe("small\n");
  });
});

describe("a download that is continued", () => {
  const csv = async (): Promise<Buffer> =>
    (await proxy.get(`${API}/export.csv`, { key: proxy.pro })).raw;

  testWith("curl")("curl -r and -C", async () => {
    const whole = await csv();
    const ask = ["-sS", "--fail", "-u", `:${proxy.pro}`, `${proxy.url}${API}/export.csv`];
    expect(await output("curl", "-r", "10-29", ...ask)).toBe(whole.subarray(10, 30).toString());
    await writeFile(join(folder, "curl.csv"), whole.subarray(0, 1_000));
    await output("curl", "-C", "-", "-o", "curl.csv", ...ask);
    expect(whole.equals(await readFile(join(folder, "curl.csv")))).toBe(true);
  });

  testWith("wget")("wget -c, also of a file that is complete", async () => {
    const whole = await csv();
    await writeFile(join(folder, "export.csv"), whole.subarray(0, 1_000));
    const args = ["-q", "-c", "--auth-no-challenge", "--user=", `--password=${proxy.pro}`];
    for (let run = 0; run < 2; run += 1) {
      await output("wget", ...args, `${proxy.url}${API}/export.csv`);
      expect(whole.equals(await readFile(join(folder, "export.csv")))).toBe(true);
    }
  });
});
