/**
 * Follows every block of docs/operate that root runs, to the letter, under a real systemd on a machine of its own
 * (`test/services/machine.ts`). There is no network there, so two things are not as on the operator's: the repository is cloned
 * from a folder, and `npm ci` and `npm install` take the packages that are installed here.
 */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test as everyTest } from "vitest";
import { catalogOf, lines, quotesOf } from "../cli/small-market.ts";
import { eventually } from "../http/fixture.ts";
import { blocksOf, type Block } from "../docs/blocks.ts";
import { canBoot, Machine } from "../services/machine.ts";

const ROOT = join(import.meta.dirname, "../..");
const FEED = "http://127.0.0.1:8000";
const CURL = "curl --silent --show-error --fail --retry 20 --retry-delay 1 --retry-all-errors";

const PAGES = ["install", "troubleshooting", "backup", "upgrade", "signing"];
const sections = (
  await Promise.all(PAGES.map((page) => readFile(join(ROOT, `docs/operate/${page}.md`), "utf8")))
).flatMap((text) => text.split(/^##* /m));
const isForRoot = ({ language, by }: Block): boolean => language === "sh" && by === "root";
/** The sections with commands for root that no test has taken yet. */
const untried = new Set(
  sections.filter((text) => blocksOf(text).some(isForRoot)).map((text) => text.split("\n", 1)[0]),
);

/** The blocks for root of a section, or its settings, for this machine's repository and feed. */
function blocks(section: string, language: "sh" | "ini" = "sh"): string[] {
  const text = sections.find((part) => part.startsWith(`${section}\n`)) ?? "";
  untried.delete(section);
  return blocksOf(text)
    .filter((block) => (language === "sh" ? isForRoot(block) : block.language === language))
    .map((block) =>
      block.text
        .replace("https://git.example/chipboard.git", "/srv/source")
        .replace(/https:\/\/(?!prices)\w+\.example/g, FEED)
        // No name is known there.
        .replace("https://prices.example", "http://127.0.0.1:8080"),
    );
}

/** Blocks of the upgrade to this release, as the upgrade from it to the next one. */
const upgradeBlocks = (section: string): string[] =>
  blocks(section).map((text) => text.replaceAll("0.4.0", "0.5.0").replaceAll("0.3.0", "0.4.0"));

const isPossible = process.env["CI"] !== undefined || canBoot();
if (!isPossible)
  console.warn("No systemd can be started here: its tests are skipped. CI runs them.");
const test = isPossible ? everyTest : everyTest.skip;

let machine: Machine;
beforeAll(async () => {
  if (!isPossible) return;
  machine = new Machine(ROOT);
  await machine.boot();
  await prepare();
});
afterAll(() => machine?.close());

/** The repository, npm without a network, and a server for the feed and the notices. */
async function prepare(): Promise<void> {
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  await machine.write(
    "/usr/local/sbin/npm",
    `#!/bin/sh
case $1 in
  ci) cd "\${3:-.}" && mkdir node_modules && exec mount --bind "/srv/checkout/\${3:-.}/node_modules" node_modules ;;
  install)
    modules=$4/node_modules
    mkdir --parents $modules/chipboard
    tar xzf "$5" --strip-components=1 --directory $modules/chipboard
    exec ln -s /srv/checkout/node_modules/* /srv/checkout/node_modules/.bin $modules
    ;;
esac
exec ${npm} "$@"
`,
    "0755",
  );
  await machine.expect(`
    git config --global safe.directory '*'
    git config --global user.name test && git config --global user.email test@test.example
    git clone -q --no-hardlinks /srv/checkout /srv/source
    cd /srv/source
    rm -rf bin src deploy
    (cd /srv/checkout && tar c bin src deploy package.json tools/package.json tsconfig.json tsconfig.package.json) | tar x
    git add --all && git commit -qm "The working tree" --allow-empty
    mkdir /srv/feed /srv/notices`);
  await machine.write(
    "/srv/server.mjs",
    `import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
createServer((request, response) => {
  if (request.method === "POST") {
    request.on("data", (piece) => appendFileSync("/srv/notices/all", piece));
    request.on("end", () => response.end());
    return;
  }
  try {
    response.end(readFileSync("/srv/feed" + request.url));
  } catch {
    response.writeHead(404).end();
  }
}).listen(8000, "127.0.0.1");
`,
  );
  await machine.expect(
    "systemd-run --quiet --unit server /srv/checkout/node_modules/.bin/node /srv/server.mjs",
  );
  await machine.write("catalog.csv", catalogOf(["a", "b"]));
  await machine.write("closes.csv", lines("id,date,close_usd", "a,2026-11-19,10"));
  await machine.write("quotes.csv", quotesOf({ a: 11, b: 5 }));
}

/** The clock of the units and of the operator's command. */
const setClock = (now: string): Promise<string> =>
  machine.expect(`sed -i '/^CHIPBOARD_NOW=/d' /etc/chipboard/chipboard.env
    echo CHIPBOARD_NOW=${now} >> /etc/chipboard/chipboard.env`);

const offer = (levels: Record<string, number | string>): Promise<void> =>
  machine.write(
    "/srv/feed/quotes.json",
    JSON.stringify(Object.entries(levels).map(([id, spot_usd]) => ({ id, spot_usd }))),
  );

const readyz = async (): Promise<Record<string, unknown>> =>
  JSON.parse(await machine.expect(`${CURL} http://127.0.0.1:8080/readyz`));

/** How the last run of a job ended, as node_exporter's user reads it. */
const ended = async (job: string): Promise<Record<string, number>> => {
  const file = `/var/log/chipboard/${job}.prom`;
  const text = await machine.expect(`setpriv --reuid nobody --clear-groups cat ${file}`);
  const samples = text.matchAll(/^chipboard_job_(\w+)\{name="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, name, , value]) => [name, Number(value)]));
};

let key: string;
const withKey = (path: string): Promise<string> =>
  machine.expect(`${CURL} -H "x-api-key: ${key}" http://127.0.0.1:8080/api/public/v1/${path}`);

test("install: folders, users, a compiled release, units that systemd accepts", async () => {
  const [people = "", checkout = "", , use = "", ...more] = blocks("Install");
  expect(more).toEqual([]);
  await machine.expect(people);
  await machine.expect(checkout + use);
  const [options = "", notices = ""] = blocks("Install", "ini");
  await machine.expect(`cat > /etc/chipboard/chipboard.env <<'END'\n${options}END`);
  await machine.write("/etc/chipboard/notice.env", notices);
  await setClock("2026-11-21T00:05:00Z");

  const stat = "stat --format '%a %U %G %n'";
  const paths = "/etc/chipboard/chipboard.env /var/lib/chipboard /var/backups/chipboard";
  expect(await machine.expect(`${stat} ${paths} /usr/local/bin/chipboard`)).toBe(
    lines(
      "600 root root /etc/chipboard/chipboard.env",
      "750 chipboard chipboard /var/lib/chipboard",
      "750 chipboard chipboard /var/backups/chipboard",
      "755 root root /usr/local/bin/chipboard",
    ),
  );
  const units = "/etc/systemd/system/chipboard*.{service,socket,timer}";
  const verified = await machine.run(`systemd-analyze verify --man=no ${units}`);
  expect(verified).toEqual({ code: 0, stdout: "", stderr: "" });
});

test("first publish: works from a folder that the service cannot read", async () => {
  const printed = await machine.expect(blocks("First publish").join(""));
  expect(printed).toMatch(/^Marked .*\nPublished 2026-11-21T00Z\/r1 as publication 1\n/);
  expect(printed).toMatch(/^cbk_\w{49}\nKey cbk_\w{8} of first/m);
  key = /^cbk_\w{49}$/m.exec(printed)?.[0] ?? "";
  const others = await machine.expect("find /var/lib/chipboard ! -user chipboard ! -name '*.csv'");
  expect(others).toBe("");
});

test("start: the proxy serves, the timers are set, and the hardened units run", async () => {
  await offer({ a: 11, b: 5 });
  const printed = await machine.expect(blocks("Start").join(""));
  expect(printed).toMatch(
    /^ok +port +systemd holds 127\.0\.0\.1:8080, and the proxy there serves /m,
  );
  expect(printed).toMatch(/^--store .* CHIPBOARD_STORE in \/etc\/chipboard\/chipboard\.env$/m);
  expect(printed).toContain('"snapshot":"2026-11-21T00Z/r1"');
  for (const name of ["publish", "backup", "prune", "guard"]) {
    expect(printed).toContain(`chipboard-${name}.timer`);
  }
  expect(JSON.parse(await withKey("usage"))).toMatchObject({ account: "first", used: 0 });
  expect(JSON.parse(await withKey("prices"))).toMatchObject({ delayed_sessions: 1 });
  // The timers go by the machine's clock, and would act between the steps below. The guard may have looked already, or look
  // now: a start waits for its end.
  await machine.expect(`systemctl stop 'chipboard-*.timer'
    systemctl start chipboard-guard.service
    rm --force /srv/notices/all`);
});

describe("publish", () => {
  test("the unit publishes the next session, and the proxy follows", async () => {
    await setClock("2026-11-21T12:05:00Z");
    await offer({ a: 12, b: 5 });
    await machine.expect("systemctl start chipboard-publish.service");
    await eventually(async () => (await readyz())["snapshot"] === "2026-11-21T12Z/r1");
    expect(await ended("publish")).toMatchObject({ exit_code: 0 });
  });

  test("a failure ends as the table says: 3, a notice, and the way on", async () => {
    const { success_timestamp_seconds: before } = await ended("publish");
    await setClock("2026-11-22T00:05:00Z");
    await offer({ a: 18.4, b: 5 });
    const refused = await machine.run("systemctl start chipboard-publish.service");
    expect(refused.code).toBe(1);
    const show = "systemctl show chipboard-publish.service --property ExecMainStatus,ActiveState";
    expect(await machine.expect(show)).toBe(lines("ExecMainStatus=3", "ActiveState=failed"));
    await eventually(async () => (await machine.run("cat /srv/notices/all")).stdout !== "");
    expect(await ended("publish")).toMatchObject({
      exit_code: 3,
      success_timestamp_seconds: before,
    });
    const notice = await machine.expect("cat /srv/notices/all");
    expect(notice).toMatch(/^chipboard-publish failed on /);
    const remedy = /--accept \S+/.exec(notice)?.[0] ?? "";
    expect(remedy).toBe("--accept moves:a");
    const [inJournal = ""] = blocks("A publish failed");
    expect(await machine.expect(inJournal)).toContain(remedy);
    await eventually(async () =>
      (await machine.expect("journalctl --priority alert --no-pager")).includes(
        "chipboard-publish failed on",
      ),
    );
    const accepted = await machine.expect(`chipboard publish ${remedy}`);
    expect(accepted).toContain("Published 2026-11-22T00Z/r1");
    // The next run of the unit succeeds.
    await machine.expect("systemctl start chipboard-publish.service");
  });

  test("the unit waits for a late feed as chipboard.env says, by default 25 minutes", async () => {
    const environment = "systemctl show chipboard-publish.service --property Environment";
    expect(await machine.expect(environment)).toBe("Environment=CHIPBOARD_WAIT=25m\n");
    await machine.expect("echo CHIPBOARD_WAIT=long >> /etc/chipboard/chipboard.env");
    expect((await machine.run("systemctl start chipboard-publish.service")).code).toBe(1);
    expect(await machine.expect("journalctl --unit chipboard-publish --no-pager")).toContain(
      'CHIPBOARD_WAIT "long"',
    );
    await machine.expect(`sed -i /^CHIPBOARD_WAIT/d /etc/chipboard/chipboard.env
      systemctl reset-failed chipboard-publish.service`);
  });
});

/**
 * Fifty callers ask /readyz, each request on a new connection, until `during` has ended. However long a restart takes,
 * no more connections wait than one address may have.
 */
async function underLoad(
  during: () => Promise<void>,
): Promise<{ asked: number; refused: string[] }> {
  await machine.write(
    "/srv/load.mjs",
    `import { existsSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { setTimeout } from "node:timers/promises";
const ask = () =>
  new Promise((resolve) => {
    get("http://127.0.0.1:8080/readyz", { agent: new Agent() }, (answer) =>
      answer.resume().once("end", () => resolve(answer.statusCode === 200 ? null : answer.statusCode)),
    ).once("error", (error) => resolve(error.message));
  });
const answers = [];
const callers = Array.from({ length: 50 }, async () => {
  while (existsSync("/srv/loading")) {
    answers.push(await ask());
    await setTimeout(100);
  }
});
await Promise.all(callers);
const refused = answers.filter((one) => one !== null);
writeFileSync("/srv/loaded", JSON.stringify({ asked: answers.length, refused }));
`,
  );
  await machine.expect(`touch /srv/loading; rm -f /srv/loaded
    systemd-run --quiet --unit load /srv/checkout/node_modules/.bin/node /srv/load.mjs`);
  await during();
  await machine.expect("rm /srv/loading");
  await eventually(async () => (await machine.run("cat /srv/loaded")).code === 0);
  return JSON.parse(await machine.expect("cat /srv/loaded"));
}

test("restart: under load no request is refused, and the command ends when the proxy is ready", async () => {
  const [restart = ""] = blocks("Restart");
  const { asked, refused } = await underLoad(async () => {
    for (const _ of [1, 2, 3]) {
      await machine.expect(restart);
      expect(await readyz()).toMatchObject({ status: "ready" });
    }
  });
  expect(refused).toEqual([]);
  expect(asked).toBeGreaterThan(100);
});

test("several processes: each is restarted while the others answer", async () => {
  await machine.expect(blocks("Several processes").join(""));
  const { refused } = await underLoad(async () => {
    await machine.expect("systemctl restart chipboard@9464.service");
    await machine.expect("systemctl restart chipboard@9465.service");
  });
  expect(refused).toEqual([]);
  for (const port of [9464, 9465]) {
    const metrics = await machine.expect(`${CURL} http://127.0.0.1:${port}/metrics`);
    expect(metrics).toContain("\nchipboard_ready 1\n");
  }
  expect((await machine.run("systemctl is-active chipboard.service")).stdout).toBe("inactive\n");
  await machine.expect(`systemctl disable --now chipboard@9464.service chipboard@9465.service
    systemctl enable --now chipboard.service`);
});

const fingerprint = (): Promise<string> =>
  machine.expect(
    "openssl s_client -connect 127.0.0.1:8443 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint",
  );

test("TLS: a renewed certificate is in use after a reload", async () => {
  const make =
    "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null";
  await machine.expect(make);
  const [install = "", reload = ""] = blocks("TLS");
  const [options = ""] = blocks("TLS", "ini");
  await machine.expect(`cp /etc/chipboard/chipboard.env before
    cat >> /etc/chipboard/chipboard.env <<'END'\n${options}END`);
  await machine.expect(install);
  await machine.expect(`${CURL} --insecure https://127.0.0.1:8443/healthz`);
  const first = await fingerprint();
  await machine.expect(make);
  await machine.expect(install.replaceAll(/^systemctl.*$/gm, "") + reload);
  await eventually(async () => (await fingerprint()) !== first);
  await machine.expect(`cp before /etc/chipboard/chipboard.env
    rm -r /etc/systemd/system/chipboard.socket.d
    systemctl daemon-reload
    systemctl stop chipboard.socket chipboard.service
    systemctl start chipboard.socket chipboard.service`);
  expect((await readyz())["snapshot"]).toBe("2026-11-22T00Z/r1");
});

test("a proxy with a wrong option fails at once, and a notice says which", async () => {
  await machine.expect(`cp /etc/chipboard/chipboard.env before; rm /srv/notices/all
    echo CHIPBOARD_POLL=soon >> /etc/chipboard/chipboard.env`);
  expect((await machine.run("systemctl restart chipboard.service")).code).toBe(1);
  await eventually(async () =>
    (await machine.run("cat /srv/notices/all")).stdout.includes('CHIPBOARD_POLL "soon"'),
  );
  expect((await machine.run("systemctl is-failed chipboard.service")).stdout).toBe("failed\n");
  await machine.expect(`cp before /etc/chipboard/chipboard.env
    systemctl restart chipboard.service`);
  expect((await readyz())["state"]).toBe("ok");
});

describe("a fault is told once, and once when it is over", () => {
  const look = "systemctl start chipboard-guard.service";
  /** The notices of a row: bad, or well again. */
  const told = async (row: string): Promise<string[]> =>
    [
      ...(await machine.expect("cat /srv/notices/all")).matchAll(
        new RegExp(`^(bad|well again): ${row}: `, "gm"),
      ),
    ].map(([, words = ""]) => words);
  /** Looks, as the timer does each minute, until this was told last. */
  const isTold = (row: string, words: string): Promise<void> =>
    eventually(async () => {
      await machine.expect(`sleep 1; ${look}`);
      return (await told(row)).at(-1) === words;
    });
  const isActive = (unit: string): Promise<void> =>
    eventually(async () => (await machine.run(`systemctl is-active ${unit}`)).code === 0);
  /** Exactly these two, however often the timer looks. */
  async function areTold(row: string, end: () => Promise<unknown>): Promise<void> {
    await isTold(row, "bad");
    await machine.expect(`${look}; ${look}`);
    expect(await told(row)).toEqual(["bad"]);
    await end();
    await isTold(row, "well again");
    await machine.expect(`${look}; ${look}`);
    expect(await told(row)).toEqual(["bad", "well again"]);
  }
  const move = (from: string, to: string) => machine.expect(`mv ${from} ${to}`);

  beforeAll(async () => {
    if (!isPossible) return;
    await machine.expect("systemctl start chipboard-backup.service");
  });
  beforeEach(async () => {
    if (isPossible) await machine.expect(`${look}; : > /srv/notices/all`);
  });

  test("while all is well, nothing is told, and the backup was restored", async () => {
    await machine.expect(`${look}; ${look}`);
    expect(await machine.expect("cat /srv/notices/all")).toBe("");
    const memory = await machine.expect("cat /var/lib/chipboard-guard/memory.json");
    expect(JSON.parse(memory).kept.drill.finding).toMatchObject({ result: "ok" });
  });

  test("without a state", async () => {
    const [state, away] = ["/var/lib/chipboard/state", "/var/lib/chipboard/away"];
    await move(state, away);
    expect((await machine.run("systemctl restart chipboard.service")).code).toBe(1);
    await areTold("port", () => move(away, state));
    expect(await machine.expect("cat /srv/notices/all")).toContain("There is no state");
  });

  test("a store that is away at the start", async () => {
    const [store, away] = ["/var/lib/chipboard/snapshots", "/var/lib/chipboard/away"];
    await move(store, away);
    await machine.expect("systemctl restart --no-block chipboard.service");
    await areTold("port", () => move(away, store));
  });

  test("killed three times", async () => {
    for (const _ of [1, 2, 3]) {
      await isActive("chipboard.service");
      const kill = "systemctl kill --signal KILL chipboard.service";
      const count = "systemctl show chipboard.service --property NRestarts --value";
      const before = Number(await machine.expect(count));
      await machine.expect(kill);
      await eventually(async () => Number(await machine.expect(count)) > before);
    }
    await isActive("chipboard.service");
    await isTold("units", "bad");
    // The next look finds no restart.
    await isTold("units", "well again");
    expect(await told("units")).toEqual(["bad", "well again"]);
  });

  test("one that hangs", async () => {
    const signal = (name: string) =>
      machine.expect(`systemctl kill --signal ${name} chipboard.service`);
    await signal("STOP");
    await areTold("port", () => signal("CONT"));
  });

  test("the tools for agents, while another program has their port", async () => {
    await hold(8090);
    await machine.expect("systemctl start chipboard-mcp.service");
    await areTold("units", () => machine.expect("systemctl stop holder-8090.service"));
    await machine.expect("systemctl stop chipboard-mcp.service");
  });

  test("it serves while another program has its metrics port, which is told", async () => {
    await machine.expect("systemctl stop chipboard.service");
    await hold(9464);
    await machine.expect("systemctl start chipboard.service");
    expect(await readyz()).toMatchObject({ status: "ready" });
    await areTold("metrics-port", () => machine.expect("systemctl stop holder-9464.service"));
    const metrics = await machine.expect(`${CURL} http://127.0.0.1:9464/metrics`);
    expect(metrics).toContain("\nchipboard_ready 1\n");
    expect(await told("port")).toEqual([]);
  });

  test("a notice to try the address, as Slack and Discord take it", async () => {
    await machine.expect(`echo NOTICE_FORMAT=json >> /etc/chipboard/notice.env
      systemctl start chipboard-notice@test.service
      sed -i /^NOTICE_FORMAT/d /etc/chipboard/notice.env`);
    const { text, content } = JSON.parse(await machine.expect("cat /srv/notices/all"));
    expect(text).toMatch(/^test failed on /);
    expect(content).toBe(text);
  });
});

/** Another program takes a port. */
async function hold(port: number): Promise<void> {
  const listen = `require("net").createServer().listen(${port}, "127.0.0.1")`;
  const node = "/srv/checkout/node_modules/.bin/node";
  await machine.expect(`systemd-run --quiet --unit holder-${port} ${node} -e '${listen}'`);
  await eventually(async () => (await machine.expect("ss -Hltn")).includes(`:${port} `));
}

test("prune: the unit does nothing until the operator says how many days stay", async () => {
  const start = "systemctl start chipboard-prune.service";
  const printed = "journalctl --unit chipboard-prune --identifier watched --output cat --no-pager";
  await machine.expect(start);
  const result = "systemctl show chipboard-prune.service --property Result,ActiveState";
  expect(await machine.expect(result)).toBe(lines("Result=exec-condition", "ActiveState=inactive"));
  expect((await machine.run(printed)).stdout).toBe("");
  const [option = ""] = blocks("Old snapshots", "ini");
  const days = (text: string): Promise<string> =>
    machine.expect(`sed -i /^CHIPBOARD_KEEP_DAYS/d /etc/chipboard/chipboard.env
      echo '${text.trimEnd()}' >> /etc/chipboard/chipboard.env; ${start}; ${printed}`);
  expect(await days(option)).toMatch(/^Removed 0 snapshots, .*; 3 snapshots stay\n$/);
  expect(await days("CHIPBOARD_KEEP_DAYS=90")).toContain("\nwarning: pro may ask for answers of");
  expect(await ended("prune")).toMatchObject({ exit_code: 0 });
  await days("CHIPBOARD_KEEP_DAYS=");
});

test("backup and restore: after the data is lost, every key and snapshot is back", async () => {
  const listed = await machine.expect(blocks("Backup").join(""));
  expect(listed).toMatch(/ state-\S+\.sqlite\n/);
  expect(await ended("backup")).toMatchObject({ exit_code: 0 });
  const [board, log] = [
    await withKey("prices"),
    await machine.expect("chipboard snapshots ls --json"),
  ];
  const used = JSON.parse(await withKey("usage"));

  await machine.expect(`systemctl kill --signal KILL chipboard.service
    rm -rf /var/lib/chipboard/snapshots /var/lib/chipboard/state`);
  await machine.expect(blocks("Restore").join(""));
  expect(await machine.expect("chipboard snapshots ls --json")).toBe(log);
  expect(await withKey("prices")).toBe(board);
  // One call before the loss came after the backup.
  expect(JSON.parse(await withKey("usage"))).toEqual(used);
  // The next backup goes on where the last one ended.
  await machine.expect("systemctl start chipboard-backup.service");
});

test("only the state is lost: its newest backup serves every key again", async () => {
  await machine.expect("rm -rf /var/lib/chipboard/state");
  await eventually(async () => {
    const { stdout } = await machine.run("curl --silent http://127.0.0.1:8080/readyz");
    return !stdout.includes('"state":"ok"');
  });
  await machine.expect(blocks("Only the state is lost").join(""));
  expect(await readyz()).toMatchObject({ status: "ready", state: "ok" });
  expect(JSON.parse(await withKey("usage"))).toMatchObject({ account: "first" });
});

test("only the snapshots are lost: the proxy says so, and serves their copy when that is taken up", async () => {
  const log = await machine.expect("chipboard snapshots ls --json");
  await machine.expect(
    "rm -rf /var/lib/chipboard/snapshots; systemctl start chipboard-publish.service || :",
  );
  await eventually(async () => (await readyz())["store"] === "lost");
  expect((await machine.run("chipboard doctor")).code).toBe(5);
  expect((await machine.run("ls /var/lib/chipboard/snapshots/publications")).code).not.toBe(0);
  const printed = await machine.expect(blocks("Only the snapshots are lost").join(""));
  expect(printed).toContain("Took up the log of /var/lib/chipboard/snapshots with entry");
  expect(await readyz()).toMatchObject({ status: "ready", store: "ok" });
  expect(await machine.expect("chipboard snapshots ls --json")).toBe(log);
});

test("upgrade and go back: the service runs the release that is named", async () => {
  const installed = await machine.expect("chipboard --version");
  await machine.expect(`cd /srv/source && sed -i 's/"version": ".*"/"version": "9.9.9"/' package.json
    git commit -qam "The next release"`);
  const upgraded = await machine.expect(upgradeBlocks("Upgrade and go back").join(""));
  expect(upgraded).toMatch(/^9\.9\.9$/m);
  expect((await readyz())["snapshot"]).toBe("2026-11-22T00Z/r1");
  expect(await running()).toBe("/opt/chipboard/0.5.0");

  const [before = "", after = ""] = upgradeBlocks("Go back over a new format");
  expect(await machine.expect(before)).toMatch(/^Program +chipboard/m);
  await machine.expect(upgradeBlocks("Go back").join(""));
  expect((await readyz())["snapshot"]).toBe("2026-11-22T00Z/r1");
  expect(await machine.expect("chipboard --version")).toBe(installed);
  expect(await running()).toBe("/opt/chipboard/0.4.0");
  await machine.expect(after);
  const jobs = "chipboard-backup.service chipboard-prune.service";
  const commands = await machine.expect(`systemctl show --property ExecStart --value ${jobs}`);
  const releases = commands.match(/\S+(?=\/deploy\/(?:backup|run) )/g);
  expect(releases).toEqual(["/opt/chipboard/0.5.0", "/opt/chipboard/0.5.0"]);
  await machine.expect("systemctl start chipboard-backup.service");
  expect(JSON.parse(await withKey("usage"))).toMatchObject({ account: "first" });
});

test("a package that npm pack made is a release as well", async () => {
  const [, , take = "", use = ""] = blocks("Install");
  await machine.expect(
    `git clone -q /srv/source packed && cd packed && npm ci && npm ci --prefix tools && npm pack`,
  );
  await machine.expect(`cp packed/chipboard-9.9.9.tgz .
    ${`${take}${use}`.replaceAll("0.4.0", "9.9.9")}
    systemctl restart chipboard.service`);
  expect(await machine.expect("chipboard --version")).toBe("9.9.9\n");
  expect((await readyz())["snapshot"]).toBe("2026-11-22T00Z/r1");
  expect(await running()).toBe("/opt/chipboard/9.9.9");
  await machine.expect("systemctl start chipboard-publish.service chipboard-backup.service");

  await machine.expect(blocks("Go back").join("").replaceAll("0.3.0", "9.9.9"));
  expect(await running()).toBe("/opt/chipboard/9.9.9");
  await machine.expect(upgradeBlocks("Go back").join(""));
  expect(await running()).toBe("/opt/chipboard/0.4.0");
});

test("signing: the unit signs its snapshots, and the proxy serves signed ones", async () => {
  const [make = "", use = "", ...more] = blocks("Begin, on one machine");
  expect(more).toEqual([]);
  const add = (options = ""): Promise<string> =>
    machine.expect(`cat >> /etc/chipboard/chipboard.env <<'END'\n${options}END`);
  const [sign, verify] = blocks("Begin, on one machine", "ini");
  await setClock("2026-11-22T12:05:00Z");
  await machine.expect("cp /etc/chipboard/chipboard.env before");
  await machine.expect(make);
  await add(sign);
  await offer({ a: 18.5, b: 5 });
  await machine.expect("systemctl start chipboard-publish.service");
  await add(verify);
  await machine.expect(use);
  expect(await readyz()).toMatchObject({ snapshot: "2026-11-22T12Z/r1", store: "ok" });
  await machine.expect("cp before /etc/chipboard/chipboard.env");
});

test("every section with commands for root was followed", () => {
  expect([...untried]).toEqual([]);
});

/** The folder of the release whose program the proxy runs. */
const running = async (): Promise<string> => {
  const pid = await machine.expect("systemctl show chipboard.service --property MainPID --value");
  const words = await machine.expect(`tr '\\0' '\\n' < /proc/${pid.trim()}/cmdline`);
  return /^(.*)\/dist\/bin\/chipboard\.js$/m.exec(words)?.[1] ?? words;
};

describe("the command chipboard", () => {
  test("needs root, and says which folder it works in", async () => {
    const other = await machine.run("setpriv --reuid nobody --clear-groups chipboard --version");
    expect([other.code, other.stderr]).toEqual([
      2,
      "error: only root can read /etc/chipboard/chipboard.env: run sudo chipboard …\n",
    ]);
    await machine.write("mine.csv", "id,spot_usd\n");
    const { code, stderr } = await machine.run("chipboard publish --quotes mine.csv");
    expect(code).toBe(2);
    expect(stderr).toContain(
      'note: chipboard works in /var/lib/chipboard; it looks for "mine.csv" there\n',
    );
  });

  test.each([
    ["CHIPBOARD_STORE=a\\tb", "a backslash is not supported"],
    ["CHIPBOARD_STORE", "expected NAME=value"],
    ["export CHIPBOARD_STORE=a", '"export CHIPBOARD_STORE" is no name of a variable'],
    ['CHIPBOARD_STORE="a" "b"', "expected one pair of quotes around the value"],
    ['CHIPBOARD_STORE="a', "expected a value without quotes, or one pair around it"],
  ])("refuses the line %s", async (line, message) => {
    await machine.write("added", `${line}\n`);
    const { code, stderr } = await machine.run(`cp /etc/chipboard/chipboard.env before
      cat added >> /etc/chipboard/chipboard.env
      number=$(wc -l < /etc/chipboard/chipboard.env)
      code=0; chipboard --version || code=$?
      cp before /etc/chipboard/chipboard.env
      echo "$number" >&2; exit $code`);
    const number = stderr.trimEnd().split("\n").at(-1);
    expect([code, stderr.split("\n")[0]]).toEqual([
      2,
      `error: /etc/chipboard/chipboard.env line ${number}: ${message}`,
    ]);
  });

  test("reads every other line as systemd does", async () => {
    const given = [
      "# a comment",
      "; another",
      "",
      "  INDENTED=1  ",
      'DOUBLE="two words"',
      "SINGLE='$HOME # `x`'",
      "PLAIN=a $HOME \"b\" 'c' # no comment; = and ü",
      "EMPTY=",
      'NONE=""',
      "CRLF=x\r",
    ];
    await machine.write("other.env", `${given.join("\n")}\nLAST=1`);
    const names = given.flatMap((line) => /^\s*(\w+)=/.exec(line)?.[1] ?? []);
    const print = [...names, "LAST"].map((name) => `printf '%s=<%s>\\n' ${name} "$${name}"`);
    await machine.write("print", `#!/bin/sh\n${print.join("\n")}\n`, "0755");
    const bySystemd = await machine.expect(
      "systemd-run --quiet --wait --pipe --property EnvironmentFile=$HOME/other.env $HOME/print",
    );
    // The wrapper itself, with another file and the script in the program's place.
    const byWrapper = await machine.expect(`mkdir -p fake/deploy
      cp print fake/deploy/run; chmod 755 $HOME
      sed -e "s#^variables=.*#variables=$HOME/other.env#" -e "s#^release=.*#release=$HOME/fake#" \\
        /usr/local/bin/chipboard > wrapper; sh wrapper`);
    expect(byWrapper).toBe(bySystemd);
    expect(bySystemd).toContain("PLAIN=<a $HOME \"b\" 'c' # no comment; = and ü>\n");
  });
});
