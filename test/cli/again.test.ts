/**
 * Runs with nothing to do, also after an upgrade and a lost race; and `--rerender`, which always has
 * something to do.
 */
import { USUAL_REQUEST } from "../../src/publish/request.ts";
import { describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { begin, publish } from "../store/begun.ts";
import { rerender } from "../../src/publish/rerender.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { readPublications } from "../store/log-entries.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import {
  at,
  catalogOf,
  contentOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
} from "./small-market.ts";
import { tryPublish, type Run } from "./small-market.ts";
import { changeHead } from "./signed.ts";
import { replace } from "./signed.ts";
import { failure, published } from "./two-sessions.ts";

const CLOCK = { now: () => Date.parse("2026-11-21T00:10:00Z") };
const AGAIN: Run = { quotes: quotesOf({ a: 12, b: 5 }) };

/** The head as an older version would have rendered it: another version in manifest and report. */
const olderVersion = async (store: ObjectStore): Promise<void> => {
  const folder = "sessions/2026-11-21T00Z/r1/";
  const report = String(await store.get(`${folder}report.html`));
  const bytes = Buffer.from(
    report.replace(/Made by chipboard [^ ]+\./, "Made by chipboard 0.0.1."),
  );
  await replace(store, `${folder}report.html`, bytes);
  await changeHead(store, ({ files }) => ({
    program: { name: "chipboard", version: "0.0.1" },
    files: files.map((file) =>
      file.path === "report.html"
        ? { ...file, bytes: bytes.length, sha256: sha256Hex(bytes) }
        : file,
    ),
  }));
};

describe("after an upgrade", () => {
  test("the same input is nothing to do, and what differs is a conflict as ever", async () => {
    const store = await published();
    await olderVersion(store);
    const before = await contentOf(store);
    for (const run of [
      AGAIN,
      { ...AGAIN, catalog: catalogOf(["a", "b"]) },
      { ...AGAIN, revise: "x" },
    ]) {
      const { code, result } = await tryPublish(store, run);
      expect([code, result?.outcome, result?.publication]).toEqual([0, "unchanged", 2]);
    }
    expect(await contentOf(store)).toEqual(before);
    for (const run of [
      { quotes: quotesOf({ a: 12.1, b: 5 }) },
      { ...AGAIN, attribution: "Other" },
      { ...AGAIN, maxCarryDays: 7 },
      { ...AGAIN, catalog: catalogOf(["b", "a"]) },
    ]) {
      expect((await failure(store, run)).code).toBe(4);
    }
  });

  test("an unsigned log is signed by the first entry with a key", async () => {
    const store = await published();
    await olderVersion(store);
    const signingKey = parseSigningKey(newKeyPair().privatePem, "the test's key");
    const keys = { signingKey, verifyKeys: [signingKey.verifyKey] };
    const request = { ...requestOf("2026-11-21T00Z"), keys: { ...keys, verifyKeys: null } };
    const { signing, outcome } = await publish(request, store, CLOCK, () => {});
    expect([outcome, signing]).toEqual(["unchanged", null]);
    const strict = rerender("As of now", { dryRun: false, keys }, store, CLOCK, () => {});
    await expect(strict).rejects.toMatchObject({ exitCode: 6 });
    const begin = { dryRun: false, keys: request.keys };
    const again = await rerender("As of now", begin, store, CLOCK, () => {});
    expect([again.outcome, again.signing?.outcome]).toEqual(["published", "signed"]);
  });
});

describe("a lost race", () => {
  /** Before the log's next entry, lets another run publish first. */
  class RacedStore extends MemoryStore {
    first: (() => Promise<unknown>) | null = null;

    override async create(key: string, bytes: Uint8Array) {
      const { first } = this;
      if (first !== null && key.startsWith("publications/")) {
        this.first = null;
        await first();
      }
      return super.create(key, bytes);
    }
  }

  test("against the same content is nothing to do, whatever reason the other gave", async () => {
    const store = new RacedStore();
    const run: Run = {
      session: "2026-11-20T12Z",
      catalog: catalogOf(["a"]),
      quotes: quotesOf({ a: 1 }),
    };
    await mustPublish(store, run);
    const fix = { session: "2026-11-20T12Z", quotes: quotesOf({ a: 1.1 }) };
    store.first = () => mustPublish(store, { ...fix, revise: "Theirs" });
    const { code, result } = await tryPublish(store, { ...fix, revise: "Ours" });
    expect([code, result?.outcome, result?.publication]).toEqual([0, "unchanged", 2]);
    expect(await readPublications(store)).toHaveLength(2);
  });

  test("against other content is a conflict", async () => {
    const store = new RacedStore();
    const run: Run = { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 1 }) };
    store.first = () => mustPublish(store, { ...run, quotes: quotesOf({ a: 2 }) });
    expect((await tryPublish(store, run)).code).toBe(4);
  });
});

describe("--rerender", () => {
  test("changes the credit line, and no level", async () => {
    const store = await published();
    const before = await headJson(store, "pro/board.json");
    const attribution = "Example Prices Ltd";
    const options = { dryRun: false, attribution };
    const renamed = await rerender("New credit line", options, store, CLOCK, () => {});
    expect([renamed.outcome, renamed.manifest.corrected]).toEqual(["published", []]);
    expect(await headJson(store, "pro/board.json")).toEqual({ ...before, attribution });
    const again = await rerender("New credit line", options, store, CLOCK, () => {});
    expect(again.outcome).toBe("unchanged");
    const kept = await rerender("As it is", { dryRun: false }, store, CLOCK, () => {});
    expect(kept.outcome).toBe("unchanged");
  });

  const again = (store: ObjectStore, dryRun = false): Promise<PublishResult> =>
    rerender("New columns", { dryRun }, store, CLOCK, () => {});

  test("of a head that this version made has nothing to do", async () => {
    const store = await published();
    const before = await contentOf(store);
    expect((await again(store)).outcome).toBe("unchanged");
    expect(await contentOf(store)).toEqual(before);
  });

  test("makes a revision with the same content, limits and judgements", async () => {
    const store = new MemoryStore();
    await mustPublish(store, {
      catalog: catalogOf(["a", "b", "c"]),
      quotes: lines(
        "id,spot_usd,session_utc,break",
        "a,12,,New mask",
        "b,5,,",
        "b,4,2026-11-19T12Z,",
      ),
      attribution: "Levels: example",
      maxCarryDays: 7,
      minCoverageMicros: 90_000_000,
      allowSparse: true,
    });
    const [made, catalog, ledger] = [
      await headJson(store, "manifest.json"),
      await headJson(store, "catalog.json"),
      await ledgerOf(store),
    ];
    await olderVersion(store);
    expect((await again(store, true)).outcome).toBe("planned");
    const { outcome, snapshot, publication } = await again(store);
    expect([outcome, snapshotText(snapshot), publication]).toEqual([
      "published",
      "2026-11-21T00Z/r2",
      2,
    ]);
    const manifest = await headJson(store, "manifest.json");
    for (const field of ["identity", "attribution", "options", "judgements", "counts", "files"]) {
      expect([field, manifest[field]]).toEqual([field, made[field]]);
    }
    expect(manifest).toMatchObject({ reason: "New columns", inputs: [], corrected: [] });
    expect(manifest.parent).toMatchObject({ revision: 1 });
    expect([await headJson(store, "catalog.json"), await ledgerOf(store)]).toEqual([
      catalog,
      ledger,
    ]);
    expect((await readPublications(store)).at(-1)?.reason).toBe("New columns");
    expect((await again(store)).outcome).toBe("unchanged");
  });

  test("after a rollback renders the head, not the newest session", async () => {
    const store = await published();
    await rollBack(store, "2026-11-20T12Z", "Wrong feed", CLOCK);
    await changeHead(store, () => ({ program: { name: "chipboard", version: "0.0.1" } }));
    expect((await again(store)).outcome).toBe("unchanged");
    await changeHead(store, ({ files }) => ({
      files: files.filter(({ path }) => path !== "report.html"),
    }));
    expect(snapshotText((await again(store)).snapshot)).toBe("2026-11-20T12Z/r2");
  });

  test("of an empty store: 4", async () => {
    const store = new MemoryStore();
    await begin(store);
    const error = await again(store).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ChipboardError);
    expect(error).toMatchObject({
      exitCode: 4,
      message: "memory: holds no snapshot to render again",
    });
  });
});

const ledgerOf = async (store: ObjectStore): Promise<unknown> =>
  Object.entries(await contentOf(store)).filter(([key]) => key.startsWith("ledger/"));

/** A request with the quotes of AGAIN. */
const requestOf = (session: string) => ({
  ...USUAL_REQUEST,
  quotes: [
    {
      name: "quotes.csv",
      format: "csv" as const,
      open: async function* () {
        yield Buffer.from(AGAIN.quotes as string);
      },
    },
  ],
  session: at(session),
  gates: { ...USUAL_LIMITS, acceptMoves: false, allowSparse: false },
});
