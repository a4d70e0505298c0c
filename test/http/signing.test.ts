/** `serve --verify-key`: a proxy that serves only snapshots signed by its keys. */
import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { publicationKey } from "../../src/store/paths.ts";
import { readHead } from "../../src/snapshot/publication-log.ts";
import { parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import {
  FIRST,
  forgeHead,
  pointHeadTo,
  replace,
  SECOND,
  workshop,
  type Workshop,
} from "../cli/signed.ts";
import { chipboard, killed, serve } from "../cluster/fixture.ts";
import type { Serving } from "../program/program.ts";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";

const PRICES = "/api/public/v1/prices";

describe("a proxy", () => {
  let proxy: TestProxy;
  afterEach(() => proxy.close());

  /** A proxy that serves FIRST, signed by `k`, and has the keys of these files. */
  async function serving(...files: string[]): Promise<Workshop> {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.opensslKey("other");
    await shop.publish(FIRST, "--sign-key @k");
    await start(shop, ...(files.length === 0 ? ["k.pub"] : files));
    expect(await snapshot()).toBe(`${FIRST}/r1`);
    return shop;
  }

  async function start(shop: Workshop, ...files: string[]): Promise<void> {
    const pem = files.map((file) => String(shop.bytes(file))).join("");
    const verifyKeys = parseVerifyKeys(pem, "the test's keys");
    proxy = await startTestProxy({ store: shop.store, verifyKeys });
  }

  const snapshot = async (): Promise<unknown> => (await proxy.get(PRICES)).headers["x-snapshot"];
  const becomes = (wanted: string): Promise<void> =>
    eventually(async () => (await snapshot()) === wanted);

  /** Waits until the newest publication is refused; returns the logged reason. */
  async function refusal(number: number): Promise<string> {
    const line = (): string | undefined =>
      proxy.logged.find((text) => text.includes(`"publication ${number} cannot be loaded"`));
    await eventually(() => line() !== undefined);
    const { level, err, serving: kept } = JSON.parse(line() as string);
    const ready = await proxy.get("/readyz");
    expect([level, kept]).toEqual([50, ready.json.snapshot ?? null]);
    if (kept !== null) {
      expect([ready.status, ready.json.store]).toEqual([200, "damaged"]);
      expect(await snapshot()).toBe(kept);
      expect((await proxy.get(PRICES)).status).toBe(200);
    }
    return err.message;
  }

  test("follows signed publications", async () => {
    const shop = await serving();
    await shop.publish(SECOND, "--sign-key @k");
    await becomes(`${SECOND}/r1`);
    expect((await proxy.get("/readyz")).json.store).toBe("ok");
  });

  test("an unsigned publication: the old snapshot stays, and /readyz says so, until it is signed", async () => {
    const shop = await serving();
    await shop.publish(SECOND);
    expect(await refusal(2)).toContain(`manifest.sig is missing: ${SECOND}/r1 is unsigned`);
    await shop.publish(SECOND, "--sign-key @k");
    await becomes(`${SECOND}/r1`);
    expect((await proxy.get("/readyz")).json.store).toBe("ok");
  });

  test("a publication with a signature by another key, and one without a signature", async () => {
    const shop = await serving();
    await shop.publish(SECOND, "--sign-key @other");
    expect(await refusal(2)).toContain(`manifest.sig does not fit ${SECOND}/r1`);
    await replace(shop.store, `sessions/${SECOND}/r1/manifest.sig`, Buffer.alloc(64));
    await shop.must(`snapshots rollback ${SECOND} --reason again`);
    await shop.must(`snapshots rollback ${FIRST} --reason back`);
    await becomes(`${FIRST}/r1`);
    await shop.must(`snapshots rollback ${SECOND} --reason again`);
    expect(await refusal(4)).toContain(`manifest.sig does not fit ${SECOND}/r1`);
  });

  test("a forged file, with manifest and log made to agree with it", async () => {
    const shop = await serving();
    await shop.publish(SECOND, "--sign-key @k");
    await becomes(`${SECOND}/r1`);
    const published = (await shop.store.get(publicationKey(2))) as Buffer;
    await forgeHead(shop.store, (text) => text.replaceAll('"spot_usd":11', '"spot_usd":99'));
    const entry = { ...(await readHead(shop.store)), number: 3, session: SECOND };
    // If an entry that the proxy has read changed its bytes, the proxy would read no further.
    await replace(shop.store, publicationKey(2), published);
    await shop.store.create(publicationKey(3), Buffer.from(JSON.stringify(entry)), "");
    expect(await refusal(3)).toContain(`manifest.sig does not fit ${SECOND}/r1`);
    const { json } = await proxy.get(PRICES, { key: proxy.pro });
    expect(json.memory[0]).toMatchObject({ id: "a", spot_usd: 11 });
  });

  test("another snapshot's signature, and another snapshot's manifest with it", async () => {
    const shop = await serving();
    await shop.publish(SECOND);
    const [old, head] = [`sessions/${FIRST}/r1`, `sessions/${SECOND}/r1`];
    const of = async (key: string): Promise<Buffer> => (await shop.store.get(key)) as Buffer;
    await replace(shop.store, `${head}/manifest.sig`, await of(`${old}/manifest.sig`));
    await shop.must(`snapshots rollback ${FIRST} --reason back`);
    await shop.must(`snapshots rollback ${SECOND} --reason again`);
    expect(await refusal(4)).toContain(`manifest.sig does not fit ${SECOND}/r1`);
    const rollback = await of(publicationKey(4));
    await pointHeadTo(shop.store, await of(`${old}/manifest.json`));
    const entry = { ...(await readHead(shop.store)), number: 5, session: SECOND };
    await replace(shop.store, publicationKey(4), rollback);
    await shop.store.create(publicationKey(5), Buffer.from(JSON.stringify(entry)), "");
    expect(await refusal(5)).toContain("is the manifest of 2026-11-20T12:00:00.000Z r1");
  });

  test("a rollback to a signed snapshot is followed, one to an unsigned snapshot is refused", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    await shop.publish(SECOND, "--sign-key @k");
    await start(shop, "k.pub");
    expect(await snapshot()).toBe(`${SECOND}/r1`);
    await shop.must(`snapshots rollback ${FIRST} --reason wrong`);
    expect(await refusal(3)).toContain(`${FIRST}/r1 is unsigned`);
    await shop.must(`snapshots rollback ${SECOND} --reason right`);
    await eventually(async () => (await proxy.get("/readyz")).json.publication === 4);
  });

  test("two keys, during a change of keys", async () => {
    const shop = await serving("other.pub", "k.pub");
    await shop.publish(SECOND, "--sign-key @other");
    await becomes(`${SECOND}/r1`);
  });

  test("an unsigned head at the start: 503 no_session with the reason; it is served when it is signed", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST);
    await start(shop, "k.pub");
    expect(await refusal(1)).toContain(`${FIRST}/r1 is unsigned`);
    const [ready, prices] = [await proxy.get("/readyz"), await proxy.get(PRICES)];
    expect([ready.status, ready.json.code]).toEqual([503, "no_session"]);
    expect(ready.json.detail).toBe("No snapshot is loaded (damaged).");
    expect([prices.status, prices.json.code]).toEqual([503, "no_session"]);
    expect(prices.json.detail).toBe("What is published cannot be loaded at the moment.");
    await shop.publish(FIRST, "--sign-key @k");
    await becomes(`${FIRST}/r1`);
  });

  test("without keys signatures are not checked", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @k");
    await replace(shop.store, `sessions/${FIRST}/r1/manifest.sig`, Buffer.alloc(64));
    proxy = await startTestProxy({ store: shop.store });
    expect(await snapshot()).toBe(`${FIRST}/r1`);
  });
});

describe("serve", () => {
  const servings: Serving[] = [];
  afterEach(() => killed(servings));

  test("refuses unsigned snapshots", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @k");
    const files = ["--store", shop.path("store"), "--state", shop.path("state")];
    const options = ["--poll", "100ms"];
    const key = { CHIPBOARD_VERIFY_KEY: shop.path("k.pub") };
    const proxy = await serve([...files, ...options], key);
    servings.push(proxy);
    const started = (): string[] =>
      proxy.stderr().match(/.*only signed snapshots are served.*\n/g) ?? [];
    await eventually(() => started().length > 0);
    expect(started().map((line) => JSON.parse(line).keys)).toEqual([[fingerprint]]);
    await shop.publish(SECOND);
    const refused = /publication 2 cannot be loaded/g;
    await eventually(() => (proxy.stderr().match(refused) ?? []).length === 1);
    const ready = (await (await fetch(`${proxy.url}/readyz`)).json()) as object;
    expect(ready).toMatchObject({ snapshot: `${FIRST}/r1`, store: "damaged" });
    expect(await proxy.end()).toBe(0);
  });

  test("a file without a public key: 2", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @k");
    writeFileSync(shop.path("empty"), "");
    for (const [file, found] of [
      ["k", "found a private key"],
      ["empty", "found no PEM block"],
      ["none", "cannot be read: ENOENT"],
    ] as const) {
      const files = ["--store", shop.path("store"), "--state", shop.path("state"), "--port", "0"];
      const options = ["--verify-key", shop.path(file)];
      const { code, stdout, stderr } = await chipboard(["serve", ...files, ...options]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`--verify-key "${shop.path(file)}": `);
      expect(stderr).toContain(found);
    }
  });

  test("the demonstration has no --verify-key, because it signs nothing", async () => {
    const { code, stdout } = await chipboard(["demo", "--help"]);
    expect([code, stdout.includes("--verify-key")]).toEqual([0, false]);
  });
});
