/** The user of docs/operate/s3-redis.md has all rights that chipboard needs, also over TLS with a private authority. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { certificate } from "../http/certificate.ts";
import { freePort } from "../program/free-port.ts";
import { chipboard, outputOf, serve } from "../program/program.ts";
import { RedisServer } from "../services/redis-server.ts";
import { testService } from "../services/services.ts";

const redis = testService("redis");
const page = readFileSync(join(import.meta.dirname, "../../docs/operate/s3-redis.md"), "utf8");

test.skipIf(redis === null)(
  "each command and a proxy works as this user with its password",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-redis-user-"));
    const { cert, key } = await certificate(folder, 30);
    const port = await freePort();
    const tls = ["--tls-port", String(port), "--tls-cert-file", cert, "--tls-key-file", key];
    const ca = ["--tls-ca-cert-file", cert, "--tls-auth-clients", "no"];
    const users = join(folder, "users.acl");
    writeFileSync(users, "");
    const server = (await RedisServer.start(...tls, ...ca, "--aclfile", users)) as RedisServer;
    onTestFinished(async () => {
      await server.remove();
      rmSync(folder, { recursive: true });
    });
    const root = new Redis(server.port);
    root.on("error", () => undefined);
    const words = /^ACL (SETUSER chipboard .*)$/m.exec(page)?.[1]?.split(" ") ?? [];
    await root.call("ACL", ...words);
    // The user outlives a restart.
    const [, save] = /`(ACL SAVE)`/.exec(page) ?? [];
    await root.call(...((save as string).split(" ") as [string, string]));
    await server.stop();
    await server.resume();

    const state = ["--state", `rediss://chipboard:password@127.0.0.1:${port}/1`];
    const options = { cwd: folder, env: { NODE_EXTRA_CA_CERTS: cert } };
    const run = (line: string) => outputOf([...line.split(" "), ...state], options);
    await run("state init");
    await run("accounts add acme --tier pro");
    const apiKey = (await run("keys create acme")).split("\n")[0] as string;
    writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
    writeFileSync(join(folder, "q.csv"), quotesOf({ a: 11 }));
    await outputOf(["publish", "--catalog", "c.csv", "--quotes", "q.csv"], options);
    const proxy = await serve(state, options);
    const headers = { "x-api-key": apiKey };
    const { status } = await fetch(`${proxy.url}/api/public/v1/prices`, { headers });
    expect([status, await proxy.end()]).toEqual([200, 0]);
    expect(await run("usage acme")).toMatch(/^acme +pro +2026-11 +1 /m);
    await run("state backup backup.sqlite");
    await run(`keys revoke ${apiKey.slice(0, 12)}`);
    await run("accounts rm acme --yes");
    await outputOf(
      ["state", "copy", "backup.sqlite", (state[1] as string).replace(/1$/, "2")],
      options,
    );
    expect(await root.call("ACL", "LOG")).toEqual([]);

    const stranger = state.map((word) => word.replace(":password", ":wrong"));
    expect((await chipboard(["accounts", "ls", ...stranger], options)).code).toBe(5);
    const unknown = await chipboard(["accounts", "ls", ...state], { cwd: folder });
    expect([unknown.code, unknown.stderr]).toEqual([5, expect.stringMatching(/certificate/)]);
    root.disconnect();
  },
);
