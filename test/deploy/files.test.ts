/** The files of deploy/ against the program: every command, option and variable in them exists. */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { testWith } from "../http/needed-tools.ts";
import { NOW } from "../program/program.ts";
import { begin } from "../store/begun.ts";
import { blocksOf } from "../docs/blocks.ts";
import { allCommands, names, ROOT, textOf, yaml } from "./deploy-files.ts";

/** The pages for operators. */
const pages = new Map<string, string>();
for (const name of await readdir(join(ROOT, "docs/operate"))) {
  pages.set(name, await readFile(join(ROOT, "docs/operate", name), "utf8"));
}
const pageOf = (name: string): string => pages.get(name) ?? "";
const services = names.filter((name) => name.endsWith(".service"));

let commands: Map<string, Set<string>>;
let options: Set<string>;
beforeAll(async () => {
  commands = await allCommands();
  options = new Set([...commands.values()].flatMap((set) => [...set]));
});

test("they and the program's help are read", () => {
  expect(services.length).toBe(8);
  expect([...commands.keys()]).toEqual(
    expect.arrayContaining(["publish", "serve", "snapshots copy", "state backup"]),
  );
  expect(commands.get("publish")).toContain("--wait");
});

/** Every command line of the program: in units, scripts, blocks and `code` of the pages. */
function commandLines(): string[] {
  const prose = [...pages.values()].join("\n");
  const blocks = blocksOf(prose).filter(({ language }) => language === "sh");
  const code = [...prose.matchAll(/`(chipboard [a-z][^`]*)`/g)].map(([, line = ""]) => line);
  const scripts = names.filter((name) => !name.endsWith(".md")).map(textOf);
  const all = [...scripts, ...blocks.map(({ text }) => text), ...code].join("\n");
  const begins = String.raw`(?:^ *|--no-install |exec proxy )chipboard |entrypoint chipboard publisher |(?:deploy/|\$)run"? (?!deploy/)`;
  const lines = all.replaceAll("\\\n", " ").matchAll(new RegExp(`(?:${begins})([a-z-].*)$`, "gm"));
  return [...lines].map(([, line = ""]) => line);
}

test("every command and its options exist", () => {
  const lines = commandLines();
  expect(lines.length).toBeGreaterThan(15);
  const wrong = lines.filter((line) => {
    const words = line.split(" ");
    const command = [2, 1].map((n) => words.slice(0, n).join(" ")).find((c) => commands.has(c));
    const known = command === undefined ? undefined : commands.get(command);
    const given = line.match(/(?<= )--[a-z0-9-]+/g) ?? [];
    return line !== "--version" && (known === undefined || !given.every((word) => known.has(word)));
  });
  expect(wrong).toEqual([]);
});

test("every variable and every option that the texts name exists", () => {
  const all = [...names.map(textOf), ...pages.values()].join("\n");
  const named = new Set(all.match(/\bCHIPBOARD_[A-Z0-9_]+/g));
  expect(named.size).toBeGreaterThan(10);
  expect([...named].filter((name) => !options.has(name))).toEqual([]);
  const inText = [...all.matchAll(/`(--[a-z0-9-]+)[^`]*`/g)];
  expect(inText.length).toBeGreaterThan(30);
  expect(inText.map(([, option = ""]) => option).filter((option) => !options.has(option))).toEqual(
    [],
  );
});

testWith("shellcheck")("shellcheck finds nothing in the scripts", async () => {
  const scripts = names.filter((name) => textOf(name).startsWith("#!/bin/sh\n"));
  expect(scripts.toSorted()).toEqual([
    "backup",
    "chipboard",
    "fly-start",
    "guard",
    "notice",
    "run",
    "watched",
  ]);
  // The template of `init`, with any program in its slots.
  const template = await readFile(join(ROOT, "src/commands/init/chipboard"), "utf8");
  const folder = await mkdtemp(join(tmpdir(), "chipboard-scripts-"));
  await writeFile(join(folder, "init"), template.replaceAll(/\{\{\w+\}\}/g, "node"));
  const paths = [...scripts.map((name) => join(ROOT, "deploy", name)), join(folder, "init")];
  const ran = promisify(execFile)("shellcheck", paths);
  const { stdout } = await ran.catch((error: { stdout: string }) => error);
  expect(stdout).toBe("");
  await rm(folder, { recursive: true });
});

describe("units", () => {
  test("take every option from the environment: no argument beats chipboard.env", () => {
    const started = [...services.map(textOf), textOf("Dockerfile")].flatMap(
      (text) => text.match(/^(?:ExecStart=|CMD \["|ENTRYPOINT ).*$/gm) ?? [],
    );
    // The image has a second entrypoint, for Fly.
    expect(started.length).toBe(services.length + 4);
    const given = started.flatMap((line) => line.match(/--[a-z][a-z0-9-]*/g) ?? []);
    expect(given).toEqual(["--disable-sigusr1", "--max-semi-space-size", "--heap-growing-percent"]);
    for (const service of services.filter((name) => !name.includes("@"))) {
      // What a unit sets itself is a default only before the file.
      expect(textOf(service)).not.toMatch(/^EnvironmentFile=[^]*^Environment=CHIPBOARD/m);
    }
  });

  test("each timer has its service, and each service but the notice reports its failure", () => {
    for (const timer of names.filter((name) => name.endsWith(".timer"))) {
      expect(services).toContain(timer.replace(".timer", ".service"));
    }
    for (const service of services.filter((name) => !name.startsWith("chipboard-notice@"))) {
      expect(textOf(service)).toContain("\nOnFailure=chipboard-notice@%N.service\n");
    }
    expect(textOf("chipboard.socket")).toContain("\nOnFailure=chipboard-notice@%n.service\n");
  });

  test("each job says how it ended, in a file that others can read", () => {
    for (const name of ["publish", "backup", "prune"]) {
      const unit = textOf(`chipboard-${name}.service`);
      const watched = `/opt/chipboard/current/deploy/watched /var/log/chipboard/${name}.prom`;
      expect(unit).toContain(`\nExecStart=${watched} /opt/chipboard/current/deploy/`);
      expect(unit).toContain("\nLogsDirectory=chipboard\nLogsDirectoryMode=0755\n");
    }
  });

  test("the table of exit codes says what the publishing unit does", () => {
    const [, prevented = ""] =
      /^RestartPreventExitStatus=(.*)$/m.exec(textOf("chipboard-publish.service")) ?? [];
    const rows = [...pageOf("troubleshooting.md").matchAll(/^\| (\d) \|[^|]*\| ([^|]*) \|/gm)];
    expect(rows.map(([, code]) => code)).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    const failing = rows.filter(([, , unit]) => unit === "fails").map(([, code]) => code);
    expect(failing).toEqual(prevented.split(" "));
  });
});

describe("publish.yml", () => {
  interface Step {
    readonly uses?: string;
    readonly run?: string;
    readonly env?: Record<string, string>;
    readonly with?: Record<string, string>;
  }
  const stepsOf = (job: string): Step[] => yaml("publish.yml").jobs[job].steps;

  testWith("python3", "yaml")(
    "has few permissions, no long-lived key, and one run at a time",
    () => {
      const { permissions, concurrency, jobs } = yaml("publish.yml");
      const all = [
        permissions,
        ...["publish", "site", "deploy", "notice"].map((job) => jobs[job].permissions),
      ];
      expect(all).toEqual([
        {},
        { contents: "read", "id-token": "write" },
        { contents: "read", "id-token": "write" },
        { "id-token": "write", pages: "write" },
        { issues: "write" },
      ]);
      expect(concurrency).toEqual({ group: "publish", "cancel-in-progress": false });
      expect([jobs.notice.needs, jobs.notice.if]).toEqual([
        ["publish", "site", "deploy"],
        "failure()",
      ]);
      // The AWS role trusts the branch; a job with an environment has another identity.
      expect([jobs.publish.environment, jobs.site.environment]).toEqual([undefined, undefined]);
      expect([jobs.deploy.needs, jobs.deploy.environment.name]).toEqual(["site", "github-pages"]);
      expect([jobs.site.needs, jobs.site.if]).toEqual([
        "publish",
        "vars.CHIPBOARD_PUBLIC_URL != ''",
      ]);
      expect(textOf("publish.yml")).not.toMatch(/ACCESS_KEY/);
    },
  );

  testWith("python3", "yaml")(
    "pins every action to a commit, and the page names its version",
    () => {
      const all = [...textOf("publish.yml").matchAll(/uses: (.*)$/gm)].map(([, action]) => action);
      const used = [...new Set(all)];
      expect(used.length).toBe(5);
      for (const action of used) {
        const [, name, version] = /^(\S+)@[0-9a-f]{40} # (v[\d.]+)$/.exec(action ?? "") ?? [];
        expect(pageOf("containers.md").replaceAll("\n", " ")).toContain(`\`${name}\` ${version}`);
      }
    },
  );

  testWith("python3", "yaml")(
    "gives every input to the program by the environment, never by the script",
    () => {
      const { inputs } = yaml("publish.yml").on.workflow_dispatch;
      const steps = ["publish", "site", "deploy", "notice"].flatMap(stepsOf);
      for (const { run = "" } of steps) expect(run).not.toContain("${{");
      const env = steps.find(({ run }) => run?.includes("chipboard publish"))?.env ?? {};
      expect(Object.keys(inputs)).toEqual(["session", "accept", "revise", "wait"]);
      for (const name of Object.keys(inputs)) {
        const variable = name.toUpperCase();
        expect(env[variable] ?? env[`CHIPBOARD_${variable}`]).toMatch(
          new RegExp(String.raw`^\$\{\{ inputs\.${name}( \|\| '25m')? \}\}$`),
        );
      }
    },
  );

  describe("its publishing step", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "chipboard-workflow-"));
      await writeFile(join(folder, "c.csv"), catalogOf(["a"]));
      await writeFile(join(folder, "q.csv"), quotesOf({ a: 1 }));
      await writeFile(join(folder, "a-file"), "");
      await begin(new FolderStore(join(folder, "store")));
      // The step waits a minute between attempts.
      await writeFile(join(folder, "sleep"), "#!/bin/sh\necho slept $1\n", { mode: 0o755 });
    });
    afterAll(() => rm(folder, { recursive: true }));

    const publish = async (env: Record<string, string>) => {
      const script = stepsOf("publish").find(({ run }) => run?.includes("chipboard publish"))?.run;
      const all = {
        PATH: `${folder}:${process.env["PATH"]}`,
        HOME: folder,
        GITHUB_STEP_SUMMARY: join(folder, "summary.md"),
        CHIPBOARD_NOW: NOW,
        CHIPBOARD_CATALOG: join(folder, "c.csv"),
        CHIPBOARD_QUOTES: join(folder, "q.csv"),
        SESSION: "",
        ACCEPT: "",
        REVISE: "",
        ...env,
      };
      const ran = promisify(execFile)("bash", ["-e", "-c", script ?? "exit 9"], {
        cwd: ROOT,
        env: all,
      });
      const { code = 0, stdout } = (await ran.catch(
        (error: { code: number; stdout: string }) => error,
      )) as { code?: number; stdout: string };
      const summary = await readFile(join(folder, "summary.md"), "utf8");
      return { code, summary, slept: stdout.match(/^slept 60$/gm)?.length ?? 0 };
    };

    testWith("python3", "yaml")("publishes, and writes the summary", async () => {
      const { code, summary, slept } = await publish({ CHIPBOARD_STORE: join(folder, "store") });
      expect([code, slept]).toEqual([0, 0]);
      expect(summary).toContain("2026-11-21T00Z/r1");
    });

    testWith("python3", "yaml")("then exports the site that the next steps deploy", async () => {
      await publish({ CHIPBOARD_STORE: join(folder, "store") });
      const steps = stepsOf("site");
      const script = steps.find(({ run }) => run?.includes("chipboard export"))?.run ?? "exit 9";
      const { path } =
        steps.find(({ uses }) => uses?.includes("upload-pages-artifact"))?.with ?? {};
      const env = {
        PATH: process.env["PATH"],
        HOME: folder,
        RUNNER_TEMP: folder,
        CHIPBOARD_STORE: join(folder, "store"),
        CHIPBOARD_PUBLIC_URL: "https://prices.example/site",
        CHIPBOARD_SERVICE: "",
      };
      await promisify(execFile)("bash", ["-e", "-c", script], { cwd: ROOT, env });
      const site = path?.replace("${{ runner.temp }}", folder) ?? "";
      expect(await readFile(join(site, "sitemap.xml"), "utf8")).toContain(
        "<loc>https://prices.example/site/methodology/</loc>",
      );
    });

    testWith("python3", "yaml")(
      "tries an unreachable store three times, wrong input once",
      async () => {
        const unreachable = await publish({ CHIPBOARD_STORE: join(folder, "a-file") });
        expect([unreachable.code, unreachable.slept]).toEqual([5, 2]);
        const wrong = await publish({
          CHIPBOARD_STORE: join(folder, "store"),
          ACCEPT: "no-gate",
        });
        expect([wrong.code, wrong.slept]).toEqual([2, 0]);
      },
    );
  });
});
