import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { NoStateError, type Subject } from "../../src/ports/state.ts";
import { createState, openAccounts, withRegistry } from "../../src/state/open.ts";
import { openRegistry } from "./open-registry.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";
import { InputError, UnreachableError } from "../../src/lib/errors.ts";
import { createKey } from "../../src/state/api-keys.ts";
import { Forwarder } from "./forwarder.ts";
import { RedisServer } from "../services/redis-server.ts";
import { codeOf, SOON } from "./state-under-test.ts";
import { stateContract } from "./state.contract.ts";

const now = Date.parse("2026-11-21T09:30:00.000Z");
const clock = { now: () => now };
const given = process.env["CHIPBOARD_TEST_REDIS_URL"];
const own = given === undefined ? await RedisServer.start() : null;
const base = given ?? (own === null ? null : `redis://127.0.0.1:${own.port}`);

if (base === null) {
  const missing = "NO REDIS: set CHIPBOARD_TEST_REDIS_URL, or install redis-server";
  if (process.env["CI"] !== undefined) throw new Error(missing);
  console.warn(`${missing}. The state is NOT tested on Redis.`);
  test.skip(missing, () => undefined);
} else {
  redisTests(base);
}

function redisTests(baseUrl: string): void {
  const url = new URL(baseUrl);
  url.pathname = "/7";
  const direct = url.href;
  afterAll(async () => own?.remove());

  const unlink = async (pattern: string): Promise<void> => {
    const client = new Redis(direct);
    const keys = await client.keys(pattern);
    if (keys.length > 0) await client.unlink(keys);
    client.disconnect();
  };
  const clean = (): Promise<void> => unlink("chipboard:*");
  const forwarded = async (): Promise<{ forwarder: Forwarder; location: string }> => {
    const forwarder = await Forwarder.start(url.hostname, Number(url.port || 6379));
    const through = new URL(direct);
    through.hostname = "127.0.0.1";
    through.port = String(forwarder.port);
    return { forwarder, location: through.href };
  };

  stateContract("Redis", async () => {
    await clean();
    const { forwarder, location } = await forwarded();
    let isBroken = false;
    return {
      location,
      breakDown: async () => {
        isBroken = true;
        await forwarder.stop();
      },
      restore: async () => {
        isBroken = false;
        await forwarder.resume();
      },
      loseCounts: () => unlink("chipboard:calls:*"),
      remove: async () => {
        if (!isBroken) await forwarder.stop();
        await clean();
      },
    };
  });

  describe("a Redis state", () => {
    const open: StateAccounts[] = [];
    const serve = async (location: string): Promise<StateAccounts> => {
      const accounts = await openAccounts(location, clock);
      open.push(accounts);
      return accounts;
    };
    beforeEach(() => createState(direct));
    afterEach(async () => {
      for (const accounts of open.splice(0)) await accounts.close();
      await clean();
    });

    test("two all together grant exactly the limit", async () => {
      const both = [await serve(direct), await serve(direct)] as const;
      const results = await Promise.all(
        Array.from({ length: 400 }, async (_, index) => {
          if (index % 50 === 0) await delay(1);
          const accounts = both[index % 2] as StateAccounts;
          return accounts.counts.take("account:acme", 250, now);
        }),
      );
      const granted = results.filter((result) => result.granted).map(({ used }) => used);
      expect(granted.sort((a, b) => a - b)).toEqual(
        Array.from({ length: 250 }, (_, index) => index + 1),
      );
    });

    test("all all see a change", async () => {
      const both = [await serve(direct), await serve(direct)];
      const registry = await openRegistry(direct, clock, "create");
      await registry.addAccount("acme", "pro", null);
      const { key, key_id } = await registry.createKey("acme", null);
      const expectAll = (code: string): Promise<void> =>
        vi.waitFor(async () => {
          for (const accounts of both) {
            const verdict = await accounts.verdicts.authenticate(key);
            expect(verdict.refusal ?? "ok").toBe(code);
          }
        }, SOON);
      await expectAll("ok");
      await registry.suspendKey(key_id, true);
      await expectAll("key_suspended");
      await registry.close();
    });

    test("a call whose reply is lost is counted once", async () => {
      const { forwarder, location } = await forwarded();
      const accounts = await serve(location);
      for (let call = 1; call <= 20; call++) {
        if (call % 5 === 0) {
          await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
          forwarder.loseNextReply();
        }
        const { granted, used } = await accounts.counts.take("account:acme", 100, now);
        expect({ granted, used }).toEqual({ granted: true, used: call });
      }
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      expect(await accounts.counts.used("account:acme", now)).toBe(20);
      open.splice(0);
      await accounts.close();
      await forwarder.stop();
    });

    test("a call whose reply is lost, and that is given back, is counted for nobody", async () => {
      const { forwarder, location } = await forwarded();
      const accounts = await serve(location);
      forwarder.loseNextReply();
      const { used } = await accounts.counts.take("account:acme", 100, now);
      // It was granted from memory, and Redis has counted it.
      expect([used, accounts.trouble]).toEqual([1, expect.any(String)]);
      accounts.counts.giveBack("account:acme", now);
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      await accounts.counts.flush();
      expect(await accounts.counts.used("account:acme", now)).toBe(0);
      open.splice(0);
      await accounts.close();
      await forwarder.stop();
    });

    test("only counts and writers expire", async () => {
      const accounts = await serve(direct);
      await accounts.counts.take("account:acme", null, now);
      await accounts.counts.take(accounts.addressSubject("203.0.113.7", now), 1_000, now);
      const client = new Redis(direct);
      const toMonthEnd = (Date.parse("2026-12-01T00:00:00Z") - now) / 1_000;
      for (const key of await client.keys("chipboard:calls:*")) {
        const ttl = await client.ttl(key);
        expect(ttl).toBeGreaterThan(toMonthEnd);
        if (key.includes("address:")) expect(ttl).toBeLessThanOrEqual(toMonthEnd + 3_600);
        const toForgetDay = (Date.parse("2027-01-23T00:00:00Z") - now) / 1_000;
        if (key.includes("day:")) expect(Math.abs(toForgetDay - ttl)).toBeLessThan(60);
      }
      expect(await client.keys("chipboard:calls:*")).toHaveLength(3);
      expect(await client.ttl("chipboard:format")).toBe(-1);
      client.disconnect();
    });

    test("emptied while a accounts runs: no count starts again from 0, and commands say why", async () => {
      const said: (string | null)[] = [];
      const accounts = await openAccounts(direct, clock, {
        onTrouble: (trouble) => said.push(trouble),
      });
      open.push(accounts);
      const address = accounts.addressSubject("203.0.113.7", now);
      for (let call = 0; call < 3; call++) await accounts.counts.take(address, 5, now);
      await clean();
      for (const used of [4, 5]) {
        expect(await accounts.counts.take(address, 5, now)).toEqual({ granted: true, used });
      }
      expect(await accounts.counts.take(address, 5, now)).toEqual({ granted: false, used: 5 });
      const reason = /the Redis is empty; it held a chipboard state before \(FLUSHALL, or/;
      await vi.waitFor(() => expect(accounts.trouble).toMatch(reason), SOON);
      for (const purpose of ["use", "serve"] as const) {
        await expect(openRegistry(direct, clock, purpose)).rejects.toThrow(reason);
      }
      const client = new Redis(direct);
      expect(await client.keys("chipboard:*")).toEqual(["chipboard:format"]);
      // The operator does what the message says, and begins with an empty state.
      await client.del("chipboard:format");
      await withRegistry(direct, clock, "create", (registry) =>
        registry.addAccount("acme", "pro", null),
      );
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      expect(accounts.addressSubject("203.0.113.7", now)).toBe(address);
      expect(await client.get(`chipboard:calls:2026-11:${address}`)).toBe("5");
      expect(said.filter((text) => text === null || reason.test(text))).toEqual([
        expect.stringMatching(reason),
        null,
      ]);
      client.disconnect();
    });

    test("emptied: a key that a proxy has not seen gets no verdict, from that moment on", async () => {
      const [known, unseen] = await withRegistry(direct, clock, "use", async (registry) => {
        await registry.addAccount("acme", "pro", null);
        return [await registry.createKey("acme", null), await registry.createKey("acme", null)];
      });
      const accounts = await serve(direct);
      const ask = async (key: string): Promise<string> =>
        codeOf(await accounts.verdicts.authenticate(key));
      expect([await ask(known.key), await ask(createKey())]).toEqual(["ok", "invalid_key"]);
      await clean();
      expect(await ask(unseen.key)).toBe("state_unavailable");
      expect(await ask(known.key)).toBe("ok");
    });

    test("without a state is named, and only marked on purpose", async () => {
      await clean();
      const client = new Redis(direct);
      const serving = openAccounts(direct, clock);
      await expect(serving).rejects.toThrow(NoStateError);
      await expect(serving).rejects.toThrow(/"state init" or "accounts add"$/);
      const refused = openRegistry(direct, clock, "use");
      await expect(refused).rejects.toThrow(UnreachableError);
      await expect(refused).rejects.toThrow(`There is no state at ${direct}:`);
      expect(await client.keys("chipboard:*")).toEqual([]);
      for (const created of [direct, null]) {
        const registry = await openRegistry(direct, clock, "create");
        expect(registry.created).toBe(created);
        await registry.close();
      }
      client.disconnect();
    });

    test("of another application is refused and not changed", async () => {
      await clean();
      const client = new Redis(direct);
      await client.set("chipboard:theirs", "1");
      await expect(serve(direct)).rejects.toThrow(/another application/);
      await expect(openRegistry(direct, clock, "use")).rejects.toThrow(UnreachableError);
      expect(await client.keys("chipboard:*")).toEqual(["chipboard:theirs"]);
      await client.set("chipboard:format", "99");
      await expect(serve(direct)).rejects.toThrow(/"99", expected "3"/);
      client.disconnect();
    });

    test("that does not answer, or a bad address, is refused in one line without the password", async () => {
      const { forwarder, location } = await forwarded();
      await forwarder.stop();
      const gone = new URL(location);
      gone.password = "s3cret";
      const attempt = serve(gone.href);
      await expect(attempt).rejects.toThrow(UnreachableError);
      await expect(attempt).rejects.toThrow(/\(--state\) cannot be used: .*ECONNREFUSED/);
      await expect(attempt).rejects.not.toThrow("s3cret");
      for (const bad of ["redis://:s3cret@", "redis://h/x/y", "redis://:s3cret@h:99999/0"]) {
        await expect(serve(bad)).rejects.toThrow(InputError);
        await expect(serve(bad)).rejects.not.toThrow("s3cret");
      }
    });
  });

  describe("a Redis of its own", () => {
    test("with a password and an address without one: the error says so", async (context) => {
      const server = await RedisServer.start("--requirepass", "open-sesame");
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const at = (auth: string): string => `redis://${auth}127.0.0.1:${server.port}/0`;
      const bare = openAccounts(at(""), clock);
      await expect(bare).rejects.toThrow(UnreachableError);
      await expect(bare).rejects.toThrow(/--state.*NOAUTH.*user:password@/);
      const wrong = openAccounts(at(":wrong-word@"), clock);
      await expect(wrong).rejects.toThrow(/WRONGPASS/);
      await expect(wrong).rejects.not.toThrow("wrong-word");
      await createState(at(":open-sesame@"));
      await (await openAccounts(at(":open-sesame@"), clock)).close();
    });

    test("that stops and starts under load loses no call and counts each once", async (context) => {
      const server = await RedisServer.start();
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const location = `redis://127.0.0.1:${server.port}/0`;
      const key = await withRegistry(location, clock, "create", async (registry) => {
        await registry.addAccount("acme", "pro", null);
        return (await registry.createKey("acme", null)).key;
      });
      const all = [await openAccounts(location, clock), await openAccounts(location, clock)];
      let granted = 0;
      let isRunning = true;
      const callers = Array.from({ length: 20 }, async (_, index) => {
        const accounts = all[index % 2] as StateAccounts;
        while (isRunning) {
          const verdict = await accounts.verdicts.authenticate(key);
          if (verdict.subject === null) throw new Error(String(verdict.refusal));
          const result = await accounts.counts.take(verdict.subject, 1_000_000_000, now);
          expect(result.granted).toBe(true);
          granted += 1;
          await delay(2);
        }
      });
      for (let round = 0; round < 3; round++) {
        await delay(300);
        await server.stop();
        await delay(300);
        await server.resume();
        await vi.waitFor(
          () => expect(all.map(({ trouble }) => trouble)).toEqual([null, null]),
          SOON,
        );
      }
      isRunning = false;
      await Promise.all(callers);
      for (const accounts of all) await accounts.close();
      const [usage] = await withRegistry(location, clock, "use", (registry) => registry.usage());
      expect(usage?.used).toBe(granted);
    });

    test("that may evict keys is refused at the start", async (context) => {
      const server = await RedisServer.start();
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const location = `redis://127.0.0.1:${server.port}/0`;
      await createState(location);
      for (const policy of ["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"]) {
        // Without a limit of its memory it drops nothing, until somebody sets one.
        for (const limit of ["0", "3mb"]) {
          await tell(server, "config", "set", "maxmemory", limit, "maxmemory-policy", policy);
          const refused = openAccounts(location, clock);
          await expect(refused).rejects.toThrow(UnreachableError);
          await expect(refused).rejects.toThrow(
            `its Redis has the maxmemory-policy "${policy}", and drops accounts, keys or counts`,
          );
          await expect(refused).rejects.toThrow(/Set maxmemory-policy to noeviction$/);
        }
      }
      await tell(server, "config", "set", "maxmemory-policy", "noeviction");
      await (await openAccounts(location, clock)).close();
    });

    test("that begins to evict keys, and drops accounts, is reported while it runs", async (context) => {
      const server = await RedisServer.start();
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const location = `redis://127.0.0.1:${server.port}/0`;
      await withRegistry(location, clock, "create", (registry) =>
        registry.addAccount("acme", "pro", null),
      );
      const moving = { ms: now, now: () => moving.ms };
      const said: (string | null)[] = [];
      const accounts = await openAccounts(location, moving, {
        onEviction: (policy) => said.push(policy),
      });
      onTestFinished(() => accounts.close());
      await accounts.check();
      expect([accounts.evictionPolicy, accounts.size]).toEqual([null, 1]);
      await tell(server, "config", "set", "maxmemory-policy", "allkeys-lru");
      await tell(server, "del", "chipboard:accounts:acme");
      moving.ms += 60_000;
      await vi.waitFor(
        () => expect([accounts.evictionPolicy, accounts.size]).toEqual(["allkeys-lru", 0]),
        SOON,
      );
      await tell(server, "config", "set", "maxmemory-policy", "noeviction");
      moving.ms += 60_000;
      await vi.waitFor(() => expect(accounts.evictionPolicy).toBeNull(), SOON);
      expect(said).toEqual(["allkeys-lru", null]);
    });

    test("that does not let the proxy ask for the policy is used", async (context) => {
      const server = await RedisServer.start();
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const rules = "on >word ~chipboard:* +@all -info -config".split(" ");
      await tell(server, "acl", "setuser", "proxy", ...rules);
      const location = `redis://proxy:word@127.0.0.1:${server.port}/0`;
      await createState(location);
      const accounts = await openAccounts(location, clock);
      expect([accounts.evictionPolicy, accounts.trouble]).toEqual([null, null]);
      await accounts.close();
    });

    test("that fails over: the keys and calls soon come from the new primary", async (context) => {
      const [first, second] = [await RedisServer.start(), await RedisServer.start()];
      if (first === null || second === null) return requireServer(context.skip);
      onTestFinished(() => removeAll(first, second));
      const forwarder = await Forwarder.start("127.0.0.1", first.port);
      const location = `redis://127.0.0.1:${forwarder.port}/0`;
      const make = async (name: string) =>
        withRegistry(location, clock, "create", async (registry) => {
          await registry.addAccount(name, "pro", null);
          return registry.createKey(name, null);
        });
      const old = await make("old");
      await replicate(first, second);
      const accounts = await openAccounts(location, clock);
      onTestFinished(async () => {
        await accounts.close();
        await forwarder.stop();
      });
      const ask = async ({ key }: { key: string }) => accounts.verdicts.authenticate(key);
      const { subject } = await ask(old);
      const count = () => accounts.counts.take(subject as Subject, null, now);
      for (let call = 0; call < 3; call++) await count();

      // The old primary keeps its connections.
      await tell(second, "replicaof", "no", "one");
      forwarder.leadTo(second.port);
      await tell(first, "replicaof", "127.0.0.1", String(second.port));
      await withRegistry(location, clock, "use", (registry) => registry.revokeKey(old.key_id));
      const fresh = await make("fresh");
      for (let call = 0; call < 3; call++) await count();
      await vi.waitFor(async () => {
        expect([codeOf(await ask(old)), codeOf(await ask(fresh))]).toEqual(["invalid_key", "ok"]);
        expect(accounts.trouble).toBeNull();
      }, SOON);
      const [, usage] = await withRegistry(location, clock, "use", (registry) => registry.usage());
      expect(usage).toMatchObject({ account: "old", used: 6 });
    });

    test.for([
      ["READONLY", "--replicaof 127.0.0.1 PRIMARY"],
      ["CLUSTERDOWN", "--cluster-enabled yes"],
      // In microseconds for each key, of which there are many.
      ["LOADING", "--key-load-delay 100"],
      ["the Redis is empty", "--maxclients 100"],
      // An empty server that takes no writes is also a wrong one.
      ["the Redis is empty", "--min-replicas-to-write 1"],
      ["the Redis is empty", "--maxmemory 1"],
    ] as const)(
      "whose address led to a server that answers %s is found again",
      async ([answer, options], { skip }) => {
        const right = await RedisServer.start();
        if (right === null) return requireServer(skip);
        const words = options.replace("PRIMARY", String(right.port)).split(" ");
        const wrong = (await RedisServer.start(...words)) as RedisServer;
        onTestFinished(() => removeAll(right, wrong));
        if (answer === "LOADING") await fill(wrong, 100_000);
        const forwarder = await Forwarder.start("127.0.0.1", right.port);
        const location = `redis://127.0.0.1:${forwarder.port}/0`;
        await createState(location);
        const accounts = await openAccounts(location, clock);
        onTestFinished(async () => {
          await accounts.close();
          await forwarder.stop();
        });
        await accounts.counts.take("account:acme", null, now);
        await forwarder.stop();
        forwarder.leadTo(wrong.port);
        await forwarder.resume();
        await vi.waitFor(() => expect(accounts.trouble).toContain(answer), SOON);
        await accounts.counts.take("account:acme", null, now);
        // Connections to the wrong server stay open.
        forwarder.leadTo(right.port);
        await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
        const client = new Redis(right.port, "127.0.0.1");
        expect(await client.get("chipboard:calls:2026-11:account:acme")).toBe("2");
        client.disconnect();
      },
    );

    test.for([
      ["OOM", "maxmemory", "1", "0"],
      ["NOREPLICAS", "min-replicas-to-write", "1", "0"],
      ["MISCONF", "save", "", ""],
      ["NOPERM", "", "", ""],
    ] as const)(
      "that refuses writes (%s) admits all keys, also of a proxy that starts, and gets the counts later",
      async ([answer, setting, refusing, usual], { skip }) => {
        const server = await RedisServer.start("--dbfilename", DUMP);
        if (server === null) return requireServer(skip);
        onTestFinished(() => server.remove());
        await tell(server, "acl", "setuser", "proxy", "on", ">word", "~chipboard:*", "+@all");
        const location = `redis://proxy:word@127.0.0.1:${server.port}/0`;
        const made = await withRegistry(location, clock, "create", async (registry) => {
          await registry.addAccount("acme", "starter", null);
          return [await registry.createKey("acme", null), await registry.createKey("acme", null)];
        });
        const said: (string | null)[] = [];
        const troubles: (string | null)[] = [];
        const all = [
          await openAccounts(location, clock, {
            onRefusal: (refusal) => said.push(refusal),
            onTrouble: (trouble) => troubles.push(trouble),
          }),
        ];
        const codes = async (): Promise<string[]> => {
          const verdicts = all.flatMap((each) =>
            made.map(async ({ key }) => each.verdicts.authenticate(key)),
          );
          return (await Promise.all(verdicts)).map(codeOf);
        };
        const [running] = all as [StateAccounts];
        const { subject } = await running.verdicts.authenticate((made[0] as { key: string }).key);
        const take = (limit: number | null) =>
          Promise.all(all.map(async (each) => each.counts.take(subject as Subject, limit, now)));
        for (let call = 0; call < 3; call++) await take(null);

        if (answer === "MISCONF") await failToSave(server);
        else if (answer === "NOPERM") await tell(server, "acl", "setuser", "proxy", "-@write");
        else await tell(server, "config", "set", setting, refusing);
        await vi.waitFor(() => expect(running.refusal).toContain(answer), SOON);
        all.push(await openAccounts(location, clock));
        expect(all.map(({ refusal, trouble }) => [refusal?.split(" ")[0], trouble])).toEqual([
          [answer, null],
          [answer, null],
        ]);
        expect(await codes()).toEqual(["ok", "ok", "ok", "ok"]);
        // The limit is for the calls in Redis as well, which the new proxy has not counted.
        const granted = { granted: true, used: 4 };
        expect(await take(4)).toEqual([granted, granted]);
        expect(await take(4)).toEqual([
          { granted: false, used: 4 },
          { granted: false, used: 4 },
        ]);
        await expect(
          withRegistry(location, clock, "use", (registry) =>
            registry.addAccount("other", "pro", null),
          ),
        ).rejects.toThrow(/\(--state\) cannot be used: (?:OOM|MISCONF|NOREPLICAS|ERR The user)/);

        if (answer === "MISCONF") await tell(server, "config", "set", "save", "");
        else if (answer === "NOPERM") await tell(server, "acl", "setuser", "proxy", "+@all");
        else await tell(server, "config", "set", setting, usual);
        await vi.waitFor(
          () => expect(all.map(({ refusal }) => refusal)).toEqual([null, null]),
          SOON,
        );
        for (const accounts of all) await accounts.close();
        const [usage] = await withRegistry(location, clock, "use", (registry) => registry.usage());
        expect(usage?.used).toBe(5);
        expect([said.length, said.at(-1), troubles]).toEqual([2, null, []]);
      },
    );

    test("in cluster mode is refused in words, also by a user who may not ask", async (context) => {
      const server = await RedisServer.start("--cluster-enabled", "yes");
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      await tell(server, "cluster", "addslotsrange", "0", "16383");
      await vi.waitFor(
        async () => expect(await tell(server, "cluster", "info")).toContain("cluster_state:ok"),
        SOON,
      );
      const location = `redis://127.0.0.1:${server.port}/0`;
      for (const purpose of ["use", "create", "serve", "fill"] as const) {
        const refused = openRegistry(location, clock, purpose);
        await expect(refused).rejects.toThrow(UnreachableError);
        await expect(refused).rejects.toThrow(
          /cluster mode is not supported; expected one primary/,
        );
      }
      await tell(server, "acl", "setuser", "proxy", ..."on >word ~* +@all -info".split(" "));
      const limited = `redis://proxy:word@127.0.0.1:${server.port}/0`;
      const added = withRegistry(limited, clock, "create", (registry) =>
        registry.addAccount("acme", "pro", null),
      );
      await expect(added).rejects.toThrow(/CROSSSLOT.*cluster mode is not supported/);
    });

    test("that hangs counts as down after a second, and is used again when it answers", async (context) => {
      const server = await RedisServer.start();
      if (server === null) return requireServer(context.skip);
      onTestFinished(() => server.remove());
      const location = `redis://127.0.0.1:${server.port}/0`;
      await createState(location);
      const accounts = await openAccounts(location, clock);
      await accounts.counts.take("account:acme", 10, now);
      process.kill(server.pid as number, "SIGSTOP");
      const late = await Promise.all(
        [1, 2, 3].map(async () => accounts.counts.take("account:acme", 10, now)),
      );
      expect(late.map(({ used }) => used)).toEqual([2, 3, 4]);
      process.kill(server.pid as number, "SIGCONT");
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      expect(await accounts.counts.used("account:acme", now)).toBe(4);
      await accounts.close();
    });
  });
}

async function removeAll(...servers: RedisServer[]): Promise<void> {
  for (const server of servers) await server.remove();
}

/** Sends a command to a server. */
async function tell({ port }: RedisServer, command: string, ...args: string[]): Promise<unknown> {
  const client = new Redis(port, "127.0.0.1");
  const reply = await client.call(command, ...args);
  client.disconnect();
  return reply;
}

/** Where such a server saves. */
const DUMP = "dump";

/** Makes a server believe that it cannot write its disk. */
async function failToSave(server: RedisServer): Promise<void> {
  const [, folder] = (await tell(server, "config", "get", "dir")) as [string, string];
  await mkdir(join(folder, DUMP));
  await tell(server, "config", "set", "save", "3600 1");
  await tell(server, "bgsave");
  await vi.waitFor(
    async () => expect(await tell(server, "info", "persistence")).toContain("bgsave_status:err"),
    SOON,
  );
}

/** Starts a server again with so many keys to load. */
async function fill(server: RedisServer, keys: number): Promise<void> {
  const client = new Redis(server.port, "127.0.0.1");
  const sets = client.pipeline();
  for (let at = 0; at < keys; at++) sets.set(`theirs:${at}`, 1);
  await sets.exec();
  client.disconnect();
  await server.stop();
  await server.resume();
}

/** Makes a server the replica of another. Resolves when it has its data. */
async function replicate(primary: RedisServer, replica: RedisServer): Promise<void> {
  await tell(replica, "replicaof", "127.0.0.1", String(primary.port));
  await vi.waitFor(
    async () => expect(await tell(replica, "info", "replication")).toContain("link_status:up"),
    SOON,
  );
}

function requireServer(skip: (note: string) => void): void {
  const missing = "NO redis-server on this machine";
  if (process.env["CI"] !== undefined) throw new Error(missing);
  console.warn(missing);
  skip(missing);
}
