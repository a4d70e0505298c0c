/**
 * The errors of the S3 store if the server is missing or misbehaves. The misbehaving server is an
 * HTTP server of this test.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { InputError, UnreachableError } from "../../src/lib/errors.ts";
import { inTime } from "../../src/store/s3-answer.ts";
import { openStore } from "../../src/store/open-store.ts";
import { at, expectFailures, useCredentials } from "./store-s3-failures.ts";
import { keysOf } from "./store.contract.ts";

useCredentials();

describe("an invalid location", () => {
  test.for([
    ["s3://", "s3://***"],
    ["s3:///prefix"],
    ["s3://b"],
    ["s3://bucket/a//b"],
    ["s3://bucket/../x"],
    ["s3://a bucket", "s3://***"],
  ])("%s", async ([location = "", shown = location]) => {
    await expect(openStore(location)).rejects.toThrow(InputError);
    await expect(openStore(location)).rejects.toThrow(`--store ${JSON.stringify(shown)}: expected`);
  });
});

describe("a server that cannot be reached", () => {
  test("no such host", async () => {
    const store = await at("s3://bucket/p", { endpoint: "http://nowhere.invalid" });
    await expectFailures(
      store,
      /: the name of "http:\/\/nowhere.invalid" cannot be resolved \((ENOTFOUND|EAI_AGAIN)\); check --s3-endpoint$/,
    );
  });

  test("nothing listens", async () => {
    const server = await serve(() => {});
    await server.stop();
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expectFailures(
      store,
      new RegExp(`: "${server.url}" refuses the connection; check --s3-endpoint$`),
    );
  });

  test("no credentials", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", undefined);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", undefined);
    const store = await at("s3://bucket/p", { endpoint: "http://127.0.0.1:9" });
    await expectFailures(
      store,
      /: no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY$/,
    );
  });

  test("no region without an endpoint", async () => {
    const store = await at("s3://bucket/p", {});
    await expectFailures(store, /: no region was found; set --s3-region or AWS_REGION$/);
  });
});

describe("a server that misbehaves", () => {
  test("prove refuses a server that ignores If-None-Match, and removes its probe", async () => {
    const objects = new Map<string, Buffer>();
    const server = await serve(async (request, response) => {
      const body = await bodyOf(request);
      const path = pathOf(request);
      if (request.method === "PUT") objects.set(path, body);
      if (request.method === "DELETE") objects.delete(path);
      response.end(request.method === "GET" ? objects.get(path) : "");
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(store.prove()).rejects.toThrow(UnreachableError);
    await expect(store.prove()).rejects.toThrow(
      /^--store "s3:\/\/bucket\/p": the server ignores If-None-Match on this bucket, so publishing is unsafe; [^\n]+$/,
    );
    expect([...objects.keys()]).toEqual([]);
    await server.stop();
  });

  test("prove refuses a server that does not return the bytes that were written", async () => {
    let puts = 0;
    const server = await serve(async (request, response) => {
      await bodyOf(request);
      if (request.method === "PUT" && puts++ > 0) response.statusCode = 412;
      response.end("Welcome to our web site");
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(store.prove()).rejects.toThrow(/does not return the bytes that were written/);
    await server.stop();
  });

  test.for([
    ["throttling", 503, "SlowDown"],
    ["an internal error", 500, "InternalError"],
    ["a conflict", 409, "ConditionalRequestConflict"],
  ] as const)("%s is tried again until it works", async ([, status, code]) => {
    const answers = [status, status, 200];
    const conditions: unknown[] = [];
    const server = await serve(async (request, response) => {
      await bodyOf(request);
      conditions.push(request.headers["if-none-match"]);
      response.statusCode = answers.shift() ?? 400;
      response.end(response.statusCode === 200 ? "" : errorXml(code));
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    expect(await store.create("a", Buffer.from("a"))).toBe("created");
    expect(conditions).toEqual(["*", "*", "*"]);
    await server.stop();
  });

  test("a large object has time for its bytes, beside the 20 seconds for the answer", async () => {
    const server = await serve(async (request, response) => {
      await bodyOf(request);
      await delay(21_000);
      response.end();
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    expect(await store.create("a", Buffer.alloc(1_000_000))).toBe("created");
    await server.stop();
  });

  test("endless throttling is an error that says so", async () => {
    let requests = 0;
    const server = await serve(async (request, response) => {
      await bodyOf(request);
      requests += 1;
      response.writeHead(503).end(errorXml("SlowDown"));
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(store.create("a", Buffer.from("a"))).rejects.toThrow(
      `--store "s3://bucket/p": cannot write "a": "${server.url}" answers 503 SlowDown; try again later`,
    );
    expect(requests).toBe(4);
    await server.stop();
  });

  test("a read repeats a request whose answer breaks off, and never returns a part", async () => {
    const whole = Buffer.alloc(200_000, "whole");
    let requests = 0;
    const server = await serve((_request, response) => {
      requests += 1;
      response.writeHead(200, { "content-length": whole.length });
      if (requests % 3 === 0) response.end(whole);
      else response.write(whole.subarray(0, 100_000), () => response.destroy());
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    expect((await store.get("a"))?.equals(whole)).toBe(true);
    expect(requests).toBe(3);
    const opened = await store.open("a");
    await expect(new Response(opened?.stream ?? null).bytes()).rejects.toThrow(
      /^--store "s3:\/\/bucket\/p": cannot read "a": /,
    );
    await server.stop();
  });

  test("an object without end is refused at the size that it may have", async () => {
    const server = await serve((_request, response) => endless(response, 200, "entry"));
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(store.get("a", 60_000)).rejects.toThrow(
      /^s3:\/\/bucket\/p\/a has \d+ bytes, expected 60000 or less$/,
    );
    const opened = await store.open("a");
    await opened?.stream.cancel();
    await server.stop();
  });

  test.for([200, 412])(
    "an answer without end that is no object, with status %i, is an error that says so",
    async (status) => {
      const server = await serve((request, response) =>
        // An object may be large.
        endless(response, request.method === "GET" ? 404 : status, "<Error>"),
      );
      const store = await at("s3://bucket/p", { endpoint: server.url });
      await expectFailures(
        store,
        /: the answer has more than 10000000 bytes; check --s3-endpoint$/,
      );
      await server.stop();
    },
  );

  const keyXml = (key: string): string => `<Contents><Key>p/${key}</Key><Size>1</Size></Contents>`;
  const tokenXml = (token: string): string =>
    `<NextContinuationToken>${token}</NextContinuationToken>`;
  const TRUNCATED = "<IsTruncated>true</IsTruncated>";

  test.each([
    ["the server lists a twice", (page: number) => keyXml("a") + TRUNCATED + tokenXml(`t${page}`)],
    [
      "the server lists b twice",
      (page: number) => keyXml("bc".charAt(page % 2)) + TRUNCATED + tokenXml(`t${page}`),
    ],
    [
      "the server repeats a page of its list",
      (page: number) => TRUNCATED + tokenXml(`t${page % 3}`),
    ],
    [
      "the server lists a part, and does not say how to get the rest",
      (page: number) => keyXml(`a${page}`) + TRUNCATED,
    ],
  ])("a listing that has no end is an error: %s", async (said, pageXml) => {
    let pages = 0;
    const server = await serve((_request, response) => {
      response.end(`<ListBucketResult>${pageXml(pages)}</ListBucketResult>`);
      pages += 1;
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(keysOf(store, "")).rejects.toThrow(
      `--store "s3://bucket/p": cannot list it: ${said}; check --s3-endpoint`,
    );
    expect(pages).toBeLessThan(6);
    await server.stop();
  });

  test("a listing that goes on without a key of the store is an error", async () => {
    let pages = 0;
    const server = await serve((_request, response) => {
      // Objects of others stand between the pages without any.
      const page =
        (pages % 2 === 0 ? keyXml(`x y${pages}`) : "") + TRUNCATED + tokenXml(`t${pages}`);
      response.end(`<ListBucketResult>${page}</ListBucketResult>`);
      pages += 1;
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await expect(keysOf(store, "")).rejects.toThrow(
      "the server lists 1000 pages without a key of the store",
    );
    expect(pages).toBe(1_001);
    await server.stop();
  });

  test("keys are listed in ascending order, in whatever order they come", async () => {
    const pages = [["b.csv", "b/1", "c"], [], ["a/2", "b.a", "a/1"], ["aa"]];
    const server = await serve((request, response) => {
      const asked = new URL(request.url ?? "", "http://x").searchParams.get("continuation-token");
      const at = Number(asked ?? 0);
      const isLast = at === pages.length - 1;
      // The last page has a token as well, which means nothing.
      const more = `<IsTruncated>${String(!isLast)}</IsTruncated>${tokenXml(String(at + 1))}`;
      response.end(
        `<ListBucketResult>${(pages[at] ?? []).map(keyXml).join("")}${more}</ListBucketResult>`,
      );
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    expect(await keysOf(store, "")).toEqual(["a/1", "a/2", "aa", "b.a", "b.csv", "b/1", "c"]);
    await server.stop();
  });

  test.each([
    ["NoSuchKey", true],
    ["NotFound", true],
    ["404", true],
    ["ErrNotFound", true],
    ["", true],
    ["NoSuchBucket", false],
    ["BucketNotFound", false],
  ])("404 %s for a list: empty %s", async (code, isEmpty) => {
    const server = await serve((_request, response) => {
      response.writeHead(404, { "content-type": "application/xml" });
      response.end(code && `<Error><Code>${code}</Code><Message>None</Message></Error>`);
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    if (isEmpty) expect(await keysOf(store, "")).toEqual([]);
    else await expect(keysOf(store, "")).rejects.toThrow("cannot list it");
    await server.stop();
  });

  test("an answer that comes too slowly is refused, and one whose reader pauses is not", async () => {
    let nowMs = 0;
    const drip = async function* (bytes: number, intervalMs: number): AsyncIterable<Uint8Array> {
      for (;;) {
        nowMs += intervalMs;
        yield Buffer.alloc(bytes);
      }
    };
    const lengthOf = async (source: AsyncIterable<Uint8Array>, pauseMs: number, most: number) => {
      let length = 0;
      for await (const piece of inTime(source, Infinity, () => nowMs)) {
        length += piece.length;
        nowMs += pauseMs;
        if (length >= most) break;
      }
      return length;
    };
    await expect(lengthOf(drip(1, 1_000), 0, 1_000_000)).rejects.toThrow(
      "the answer is too slow, 61 bytes in 61 seconds",
    );
    await expect(lengthOf(drip(9_000, 1_000), 0, 10_000_000)).rejects.toThrow("is too slow");
    expect(await lengthOf(drip(11_000, 1_000), 0, 11_000_000)).toBe(11_000_000);
    expect(await lengthOf(drip(1, 1), 1_000_000, 1_000)).toBe(1_000);
  });

  test("objects have their media type and private, endless caching", async () => {
    const headers: IncomingMessage["headers"][] = [];
    const server = await serve(async (request, response) => {
      await bodyOf(request);
      headers.push(request.headers);
      response.end();
    });
    const store = await at("s3://bucket/p", { endpoint: server.url });
    await store.create("a.csv", Buffer.from("a"));
    for (const key of ["a.csv.gz", "ledger/a.ndjson", "pro/SHA256SUMS"]) {
      await store.create(key, Buffer.from("a"));
    }
    expect(headers.splice(1).map((sent) => sent["content-type"])).toEqual([
      "application/gzip",
      "application/x-ndjson",
      "text/plain; charset=utf-8",
    ]);
    expect(headers).toMatchObject([
      {
        "content-type": "text/csv; charset=utf-8; header=present",
        "cache-control": "private, max-age=31536000, immutable",
        "content-length": "1",
      },
    ]);
    await server.stop();
  });
});

const errorXml = (code: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>No</Message></Error>`;

/** Sends `text` again and again, until the client closes the connection. */
function endless(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status);
  const piece = text.repeat(10_000);
  const send = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on("drain", send);
  send();
}

const pathOf = (request: IncomingMessage): string => (request.url ?? "").replace(/\?.*/, "");

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}
