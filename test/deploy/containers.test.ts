/** The image and compose.yml: no test here can build or run a container, so their files are read. */
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { PROGRAM } from "../../src/lib/version.ts";
import { certificate } from "../http/certificate.ts";
import { startTestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { allCommands, documents, ROOT, textOf, yaml } from "./deploy-files.ts";

let commands: Map<string, Set<string>>;
beforeAll(async () => {
  commands = await allCommands();
});

/** The stage of the image: its last one adds nothing. */
const imageStage = (): string =>
  textOf("Dockerfile")
    .split(/^FROM /m)
    .find((stage) => / AS program$/m.test(stage)) ?? "";

describe("containers", () => {
  test("the image gets files that exist and that .dockerignore leaves in", async () => {
    const left = (await readFile(join(ROOT, ".dockerignore"), "utf8")).match(/(?<=^!).*$/gm) ?? [];
    const copied = [...textOf("Dockerfile").matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(
      ([, sources = ""]) => sources.split(" "),
    );
    expect([...new Set(copied)].toSorted()).toEqual(left.toSorted());
    const tracked = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" });
    for (const source of left) {
      expect(tracked).toMatch(new RegExp(`^${source.replaceAll(".", "\\.")}(/|$)`, "m"));
    }
  });

  test("the image runs the program without root's rights, and looks after its health", () => {
    const last = imageStage();
    expect(textOf("Dockerfile").trimEnd().endsWith("\nFROM program")).toBe(true);
    expect(last).toMatch(/^USER node$/m);
    expect(last).toContain(`org.opencontainers.image.version="${PROGRAM.version}"`);
    const command = /^ENTRYPOINT (.*)$/m.exec(last)?.[1] ?? "[]";
    expect(JSON.parse(command)).toEqual([
      "node",
      "--disable-sigusr1",
      "--max-semi-space-size=16",
      "--heap-growing-percent=40",
      "dist/bin/chipboard.js",
    ]);
    // The command in the image, and the one of the units, start Node alike.
    const flags = (JSON.parse(command) as string[]).slice(1, -1).join(" ");
    for (const file of ["Dockerfile", "run"]) expect(textOf(file)).toContain(` ${flags} `);
  });

  test("its health check asks the port, with TLS if the proxy has it", async () => {
    const [, words = "[]"] = /^HEALTHCHECK .* CMD (\[[^]*?\])$/m.exec(textOf("Dockerfile")) ?? [];
    const [, ...command] = JSON.parse(words.replaceAll("\\\n", "")) as string[];
    const check = async (env: Record<string, string>) =>
      promisify(execFile)(process.execPath, command, { env }).then(
        () => "healthy",
        () => "ill",
      );
    const folder = await mkdtemp(join(tmpdir(), "chipboard-health-"));
    const { cert, key } = await certificate(folder);
    const tls = { cert: await readFile(cert), key: await readFile(key) };
    for (const [proxy, env] of [
      [await startTestProxy({}), {}],
      [await startTestProxy({ tls }), { CHIPBOARD_TLS_CERT: cert }],
    ] as const) {
      const given = { ...env, CHIPBOARD_PORT: new URL(proxy.url).port };
      expect(await check(given)).toBe("healthy");
      await proxy.close();
      expect(await check(given)).toBe("ill");
    }
    await rm(folder, { recursive: true });
  });

  testWith("python3", "yaml")(
    "kubernetes.yml: probes, no rights, one job at a time, codes of the unit",
    async () => {
      const [, , deployment, , cron] = documents("kubernetes.yml");
      const [proxy] = deployment.spec.template.spec.containers;
      expect([proxy.readinessProbe.httpGet.path, proxy.livenessProbe.httpGet.path]).toEqual([
        "/readyz",
        "/healthz",
      ]);
      expect(cron.spec).toMatchObject({
        schedule: "5 0,12 * * *",
        timeZone: "Etc/UTC",
        concurrencyPolicy: "Forbid",
      });
      const { podFailurePolicy, template } = cron.spec.jobTemplate.spec;
      const [, codes = ""] =
        /^RestartPreventExitStatus=(.*)$/m.exec(textOf("chipboard-publish.service")) ?? [];
      expect(podFailurePolicy.rules[0].onExitCodes.values.join(" ")).toBe(codes);
      const page = await readFile(join(ROOT, "docs/operate/containers.md"), "utf8");
      const byHand = [...page.matchAll(/--overrides '(.*)'/g)].map(([, json = ""]) =>
        JSON.parse(json),
      );
      expect(byHand.map(({ spec }) => spec.enableServiceLinks)).toEqual([false, false]);
      for (const pod of [deployment.spec.template.spec, template.spec]) {
        expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
        // The Service would set CHIPBOARD_PORT, CHIPBOARD_SERVICE_HOST, ….
        expect(pod.enableServiceLinks).toBe(false);
        expect(pod.containers[0].securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    },
  );

  interface Service {
    readonly build: unknown;
    readonly entrypoint?: string[];
    readonly environment?: Record<string, string | null>;
    readonly ports?: string[];
    readonly profiles?: string[];
    readonly volumes?: string[];
    readonly read_only: boolean;
  }
  const composed = (): { services: Record<string, Service>; volumes: object } =>
    yaml("compose.yml");

  testWith("python3", "yaml")(
    "compose.yml has proxy and Redis, and jobs that only a command starts",
    () => {
      const { services: all, volumes } = composed();
      expect(Object.keys(all)).toEqual([
        "proxy",
        "mcp",
        "publisher",
        "backup",
        "prune",
        "guard",
        "redis",
      ]);
      const { proxy, redis, ...jobs } = all;
      for (const service of [proxy, ...Object.values(jobs)]) {
        expect(service?.build).toEqual({ context: "..", dockerfile: "deploy/Dockerfile" });
      }
      for (const { read_only: isReadOnly } of Object.values(all)) expect(isReadOnly).toBe(true);
      expect(proxy?.profiles ?? redis?.profiles).toBeUndefined();
      for (const { profiles } of Object.values(jobs)) expect(profiles).toHaveLength(1);
      const mounted = Object.values(all)
        .flatMap((service) => service.volumes ?? [])
        .map((volume) => volume.replace(/:\/.*$/, "").replace(/^\$\{BACKUP:-(.*)\}$/, "$1"));
      expect([...new Set(mounted)].filter((name) => !name.startsWith("$")).toSorted()).toEqual(
        Object.keys(volumes).toSorted(),
      );
    },
  );

  testWith("python3", "yaml")("its jobs run what the units run, and say how they ended", () => {
    const { services: all } = composed();
    for (const [name, unit] of [
      ["publisher", "publish"],
      ["backup", "backup"],
      ["prune", "prune"],
    ] as const) {
      const inUnit = (/^ExecStart=(.*)$/m.exec(textOf(`chipboard-${unit}.service`))?.[1] ?? "")
        .replaceAll("/opt/chipboard/current/deploy/run", "chipboard")
        .replaceAll("/opt/chipboard/current", "/app")
        .replace("/var/log/chipboard/", "/app/jobs/")
        .replace("/var/backups/chipboard", "/app/backup");
      expect(all[name]?.entrypoint?.join(" ")).toBe(inUnit);
      expect(all[name]?.volumes).toContain("jobs:/app/jobs");
    }
    const last = imageStage();
    expect(last).toContain("COPY deploy/backup deploy/run deploy/watched deploy/\n");
    expect(last).toContain("RUN install -d -m 0750 -o node -g node backup snapshots");
  });

  testWith("python3", "yaml")("each service gets the options that it needs", () => {
    const { services: all } = composed();
    const given = (name: string): string[] => Object.keys(all[name]?.environment ?? {});
    /** What the image or this file fixes, and where only a person reads. */
    const fixed = ["HOST", "PORT", "METRICS_HOST", "METRICS_PORT", "WAIT"];
    const variablesOf = (command: string): string[] =>
      [...(commands.get(command) ?? [])]
        .filter((word) => word.startsWith("CHIPBOARD_"))
        .filter((name) => !fixed.includes(name.slice("CHIPBOARD_".length)));
    const commandsOf = {
      proxy: ["serve"],
      publisher: ["publish"],
      backup: ["state backup", "snapshots copy"],
      prune: ["snapshots prune"],
      guard: ["guard"],
    };
    for (const [name, own] of Object.entries(commandsOf)) {
      const needed = own.flatMap(variablesOf);
      expect(needed.length).toBeGreaterThan(1);
      expect([name, needed.filter((variable) => !given(name).includes(variable))]).toEqual([
        name,
        [],
      ]);
      if (name === "proxy") continue;
      expect(given(name)).toEqual(expect.arrayContaining(["NOTICE_URL", "NOTICE_FORMAT"]));
    }
  });

  testWith("python3", "yaml")("kubernetes.yml gives all options to every pod", () => {
    const pods = documents("kubernetes.yml").flatMap(({ spec }) => [
      ...(spec?.template?.spec === undefined ? [] : [spec.template.spec]),
      ...(spec?.jobTemplate === undefined ? [] : [spec.jobTemplate.spec.template.spec]),
    ]);
    expect(pods.map(({ containers }) => containers[0].name)).toEqual(["proxy", "publish", "guard"]);
    for (const { containers } of pods) {
      expect(containers[0].envFrom).toEqual([
        { configMapRef: { name: "chipboard" } },
        { secretRef: { name: "chipboard" } },
      ]);
    }
  });

  testWith("python3", "yaml")("publish.yml passes on every option of publish", () => {
    const steps: { run?: string; env?: object }[] = yaml("publish.yml").jobs.publish.steps;
    const { env = {}, run = "" } =
      steps.find((step) => step.run?.includes("chipboard publish")) ?? {};
    const variables = [...(commands.get("publish") ?? [])].filter((word) =>
      word.startsWith("CHIPBOARD_"),
    );
    // It prints for people.
    const missing = variables
      .filter((name) => !(name in env) && name !== "CHIPBOARD_JSON")
      .map((name) => `--${name.slice(10).toLowerCase().replaceAll("_", "-")}`);
    expect(missing).toEqual(["--summary", "--sign-key"]);
    for (const option of missing) expect(run).toContain(option);
  });

  testWith("python3", "yaml")("nothing but this machine reaches a port", () => {
    const ports = Object.values(composed().services).flatMap((service) => service.ports ?? []);
    expect(ports).toHaveLength(3);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });
});
