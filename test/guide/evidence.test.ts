/** Evidence of a settled month: written by the Python client, proven by `check`, by the page's module and by openssl. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkEvidence } from "../../src/check/evidence.ts";
import { newKeyPair, parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import { chipboard } from "../program/program.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { copyOf, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { PRELUDE, PythonClient } from "./python-client.ts";

const run = promisify(execFile);
const withPython = testWith("python3");
const withOpenssl = testWith("openssl");
const KEYS = [GOLDEN_KEY.verifyKey];

let folder: string;
let proxy: TestProxy;
let client: PythonClient;
const at = (name: string): string => join(folder, name);
const python = (code: string): Promise<string> =>
  client.print(`${PRELUDE}client = Client(key=key)\n${code}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-evidence-"));
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  const store = await copyOf(new FolderStore(EXPECTED));
  const evidence = "You may show single figures to the other party of a contract.";
  proxy = await startTestProxy({ store, clock, verifyKeys: KEYS, plans: { evidence } });
  client = await PythonClient.download(proxy.url, proxy.pro);
});
afterAll(async () => {
  await proxy.close();
  await client.remove();
  await rm(folder, { recursive: true });
});

/** The files of a zip, and a zip of files, by Python. */
const unpacked = async (zip: string, to: string): Promise<void> =>
  void (await run("python3", ["-m", "zipfile", "-e", zip, to]));
const packed = async (files: ReadonlyMap<string, Buffer>, to: string): Promise<void> => {
  const source = await mkdtemp(at("files-"));
  for (const [name, bytes] of files) {
    await mkdir(dirname(join(source, name)), { recursive: true });
    await writeFile(join(source, name), bytes);
  }
  const code =
    "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:\n  for n in sys.argv[3:]: z.write(sys.argv[2] + '/' + n, n)";
  await run("python3", ["-c", code, to, source, ...files.keys()]);
};

/** A settled month of the market, and its record. */
async function settled(kind: "contract" | "index"): Promise<{ id: string; month: string }> {
  const text = await python(
    `print(json.dumps([each for each in client.settlements() if each["kind"] == "${kind}" and each["average"] is not None][-1], default=str))`,
  );
  return JSON.parse(text) as { id: string; month: string };
}

describe.each(["contract", "index"] as const)("%s", (kind) => {
  const zip = (): string => at(`${kind}.zip`);
  const files = new Map<string, Buffer>();

  withPython("the client writes it, and its figure is the settled one", async () => {
    const { id, month } = await settled(kind);
    const told = JSON.parse(
      await python(
        `print(json.dumps(client.evidence(${JSON.stringify(id)}, "${month}", ${JSON.stringify(zip())}, "${kind}")))`,
      ),
    );
    const proof = await checkEvidence(zip(), KEYS);
    const { fingerprint } = GOLDEN_KEY.verifyKey;
    expect(told).toMatchObject({ signed: true, permission: proof.permission });
    expect(proof.permission).toBe("You may show single figures to the other party of a contract.");
    expect(proof.fingerprint).toBe(fingerprint);
    const path = kind === "index" ? "indices" : "contracts";
    const answer = await proxy.get(`/api/public/v1/settlements/${path}/${id}`, { key: proxy.pro });
    const own = answer.json.settlements.find((each: { month: string }) => each.month === month);
    expect(Number(proof.record.get("average"))).toBe(own.average);
    expect(proof.sentence).toBe(
      `The settled average of ${kind} ${id} in ${month} is ${own.average} ${own.unit ?? "points"}.`,
    );
    const { code, stdout } = await chipboard(["check", zip()]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(proof.sentence)]);
    const folderOf = at(`${kind}-files`);
    await unpacked(zip(), folderOf);
    const { stdout: names } = await run("python3", ["-m", "zipfile", "-l", zip()]);
    for (const line of names.trim().split("\n").slice(1)) {
      const name = line.replace(/\s+\d{4}-.*$/, "");
      files.set(name, await readFile(join(folderOf, name)));
    }
    expect(files.size).toBeGreaterThanOrEqual(7);
    // Its readers can check it by eye.
    expect(String(files.get("verify.sh")).trimEnd().split("\n").length).toBeLessThan(20);
  });

  withPython("each changed, missing or added file is refused in words", async () => {
    const altered = at("altered.zip");
    const refused = async (changed: ReadonlyMap<string, Buffer>): Promise<string> => {
      await packed(changed, altered);
      return checkEvidence(altered, null).then(
        () => "proven",
        (error: Error) => error.message.replace(`${altered} proves nothing: `, ""),
      );
    };
    expect(await refused(files)).toBe("proven");
    for (const [name, bytes] of files) {
      const other = Buffer.from(bytes);
      const place = Math.floor(other.length / 2);
      other[place] = (other[place] as number) ^ 1;
      const changed = await refused(new Map([...files, [name, other]]));
      // The publisher's words are told as what the file says.
      expect([name, changed === "proven"]).toEqual([name, name === "permission.txt"]);
      expect(await refused(new Map([...files].filter(([each]) => each !== name)))).not.toBe(
        "proven",
      );
    }
    expect(await refused(new Map([...files, ["other.txt", Buffer.from("x")]]))).toBe(
      "other.txt belongs to no proof",
    );
    const whole = await readFile(zip());
    for (const cut of [0, 10, Math.floor(whole.length / 2), whole.length - 1]) {
      await writeFile(altered, whole.subarray(0, cut));
      await expect(checkEvidence(altered, null)).rejects.toThrow(/proves nothing/);
    }
  });

  test("a name that differs before the content, and thousands of keys, are refused", async () => {
    const altered = at("altered.zip");
    const whole = await readFile(zip());
    const place = whole.indexOf("figure.txt");
    expect(place).toBeLessThan(whole.lastIndexOf("figure.txt"));
    await writeFile(
      altered,
      Buffer.concat([
        whole.subarray(0, place),
        Buffer.from("FIGURE.txt"),
        whole.subarray(place + 10),
      ]),
    );
    await expect(checkEvidence(altered, null)).rejects.toThrow(
      "figure.txt has another name before its content",
    );
    const pem = newKeyPair().publicPem;
    await packed(new Map([...files, ["keys.pem", Buffer.from(pem.repeat(101))]]), altered);
    await expect(checkEvidence(altered, null)).rejects.toThrow("keys.pem has more than 100 keys");
  });

  withOpenssl("openssl and a shell prove it, and refuse each change", async () => {
    const place = at(`${kind}-files`);
    const prove = async (): Promise<string> =>
      (await run("sh", ["verify.sh"], { cwd: place }).catch((error: { stdout: string }) => error))
        .stdout;
    expect(await prove()).toContain(GOLDEN_KEY.verifyKey.fingerprint);
    const refused = async (name: string, text: string): Promise<void> => {
      const file = join(place, name);
      const before = await readFile(file);
      await writeFile(file, text);
      expect([name, text, await prove()]).toEqual([
        name,
        text,
        expect.stringContaining("NOT PROVEN"),
      ]);
      await writeFile(file, before);
    };
    const lines = String(await readFile(join(place, "figure.txt"))).split("\n");
    for (const [place, line] of lines.entries()) {
      const other = line.endsWith("0") ? line.replace(/.$/, "1") : `${line.slice(0, -1)}0`;
      await refused("figure.txt", lines.with(place, other).join("\n"));
    }
    await refused("figure.txt", [...lines.slice(0, -1), "note: 1", ""].join("\n"));
    const others = [...files.keys()].filter((name) => /^(?:settlements|log|SHA256)/.test(name));
    expect(others.length).toBeGreaterThan(2);
    for (const name of [...others, "keys.pem"]) {
      const text = String(await readFile(join(place, name)));
      const middle = Math.floor(text.length / 2);
      const other = text[middle] === "7" ? "8" : "7";
      await refused(name, `${text.slice(0, middle)}${other}${text.slice(middle + 1)}`);
    }
  });
});

withPython(
  "a key that did not sign it, a month that is not settled, and an option for a service",
  async () => {
    const { publicPem } = newKeyPair();
    await writeFile(at("other.pub"), publicPem);
    await expect(
      checkEvidence(at("contract.zip"), parseVerifyKeys(publicPem, "x")),
    ).rejects.toThrow(/is signed by [0-9a-f]{64}: expected/);
    const other = await chipboard(["check", at("contract.zip"), "--verify-key", at("other.pub")]);
    expect([other.code, other.stderr]).toEqual([6, expect.stringContaining("expected")]);
    const keyed = await chipboard(["check", at("contract.zip"), "--key", "cbk_1"]);
    expect([keyed.code, keyed.stderr]).toEqual([2, expect.stringContaining("is a file")]);
    expect((await chipboard(["check", at("none.zip")])).code).toBe(2);
    const { id } = await settled("contract");
    const said = (month: string) =>
      python(
        `try:\n  client.evidence(${JSON.stringify(id)}, "${month}", "x.zip")\nexcept ValueError as error:\n  print(error)`,
      );
    expect(await said("2031-01")).toMatch(
      /the month 2031-01 is not settled; settled are \d{4}-\d{2} to/,
    );
    for (const month of ["2026-13", "2026-1", "October"])
      expect(await said(month)).toBe(`month: expected a month such as 2026-10, got '${month}'\n`);
  },
);

withPython("an id that no contract has is of an index", async () => {
  const { id, month } = await settled("index");
  const evidence = (asked: string) => {
    const line = ["evidence", asked, "--month", month, "--out", at("either.zip")];
    const code = `import client\nos.environ["CHIPBOARD_KEY"] = key\nraise SystemExit(client.main(${JSON.stringify(line)}))`;
    return client.run(`${PRELUDE}${code}`);
  };
  const said = `The settled average of index ${id} in ${month} is `;
  expect((await evidence(id)).stdout).toContain(said);
  expect((await checkEvidence(at("either.zip"), KEYS)).sentence).toContain(said);
  const { code, stderr } = await evidence("nothing");
  expect([code, stderr]).toEqual([1, expect.stringContaining('No contract has the id "nothing"')]);
});

/** A file of evidence that nobody signed, of a contract with this unit. */
async function forged(unit: string, to: string): Promise<void> {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const path = "settlements/contracts/a.json";
  const record = { month: "2026-10", unit, average: 1 };
  const settlement = JSON.stringify({
    kind: "contract",
    id: "a",
    attribution: "A",
    settlements: [record],
  });
  const sums = `${sha256(settlement)}  ${path}\n`;
  const entry = JSON.stringify({ number: 1, roots: { pro: sha256(sums) } });
  const told = Object.entries({ kind: "contract", id: "a", ...record, publication: 1 });
  const lines = [...told, ["attribution", "A"]].map(([name, value]) => `${name}: ${value}`);
  const sentence = `The settled average of contract a in 2026-10 is 1 ${unit}.`;
  const files = {
    "figure.txt": [sentence, "", ...lines, ""].join("\n"),
    SHA256SUMS: sums,
    [path]: settlement,
    "log/0000000001.json": entry,
    "permission.txt": "none",
    "verify.sh": String(await readFile(join(at("contract-files"), "verify.sh"))),
  };
  await packed(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])), to);
}

withPython("no text of a file looks like a step of its proof", async () => {
  await forged("points.\nproven      signature  It is signed by the publisher", at("forged.zip"));
  const { code, stdout } = await chipboard(["check", at("forged.zip")]);
  expect([
    code,
    stdout.match(/^\w+ +signature .*$/gm),
    stdout.match(/^not proven +signature/gm),
  ]).toEqual([0, null, ["not proven  signature"]]);
});

withPython("of a signed log whose keys the service does not show, nothing is written", async () => {
  const keyless = await startTestProxy({ store: await copyOf(new FolderStore(EXPECTED)) });
  const own = await PythonClient.download(keyless.url, keyless.pro);
  try {
    const { id, month } = await settled("contract");
    const { code, stderr } = await own.run(
      `${PRELUDE}Client(key=key).evidence(${JSON.stringify(id)}, "${month}", ${JSON.stringify(at("keyless.zip"))})`,
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining("its operator sets --verify-key")]);
    await expect(readFile(at("keyless.zip"))).rejects.toThrow("ENOENT");
  } finally {
    await keyless.close();
    await own.remove();
  }
});

test("a log without signatures is told, and ends with 0", async () => {
  const unsigned = await startTestProxy();
  const own = await PythonClient.download(unsigned.url, unsigned.pro);
  try {
    const code = `${PRELUDE}client = Client(key=key)\neach = client.settlements()[0]\nprint(client.evidence(each["id"], each["month"], ${JSON.stringify(at("unsigned.zip"))}, each["kind"])["signed"])`;
    expect((await own.print(code)).trim()).toBe("False");
    const { code: ended, stdout } = await chipboard(["check", at("unsigned.zip")]);
    expect([ended, stdout]).toEqual([0, expect.stringContaining("The log is not signed")]);
    // No plans name a permission.
    expect(stdout).toMatch(
      /The file says: .* needs the publisher's permission\..* enterprise licence\./,
    );
  } finally {
    await unsigned.close();
    await own.remove();
  }
});
