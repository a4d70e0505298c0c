/** The door of every host: h3's app with one handler for all addresses, which asks the core. */
import { H3, type H3Event } from "h3";
import { answer, fieldsOf, type Answer } from "../core/answer.ts";
import type { Ask } from "../core/ask.ts";
import type { World } from "../core/world.ts";
import { joined } from "../lib/bytes.ts";

/** How a host reads a request, and sends its answer. */
interface Host {
  askOf(event: H3Event): Ask;
  /** Calls `answer.done` once, when the answer is sent or abandoned. */
  send(event: H3Event, answer: Answer): Response | Promise<Response>;
}

/** Makes the app. */
export function doorOf(world: World, host: Host): H3 {
  // A path with malformed escapes reaches the core and gets a 404.
  const app = new H3({ allowMalformedURL: true, silent: true });
  app.all("/**", async (event: H3Event) =>
    host.send(event, await answer(host.askOf(event), world)),
  );
  return app;
}

/** What a platform says of a request beside the standard's fields. */
export interface Sender {
  /** The address of the client; undefined: it is not known. */
  readonly peer: string | undefined;
  /** Its Accept-Encoding, where the platform puts its own into the field; null: it sent none. */
  readonly codings?: string | null | undefined;
}

/**
 * A host that has requests and responses of the Fetch standard. The platform joins repeated fields and resolves dot
 * segments before that.
 */
export const fetchHost = (senderOf: (request: Request) => Sender): Host => ({
  askOf: ({ req }) => {
    const { host, pathname, search } = new URL(req.url);
    const { peer, codings } = senderOf(req);
    const { "accept-encoding": field, ...others } = Object.fromEntries(req.headers);
    const coding = codings === undefined ? field : (codings ?? undefined);
    const headers = {
      ...others,
      ...(coding !== undefined && { "accept-encoding": coding }),
      host,
    };
    return {
      method: req.method,
      target: pathname + search,
      httpVersion: "1.1",
      headers,
      rawHeaders: Object.entries(headers).flat(),
      peer,
      arrivedMs: performance.now(),
    };
  },
  send: ({ req }, sent) => responseOf(sent, req.method),
});

/** How a Worker says that the body is coded already; others ignore it. */
interface CodedInit extends ResponseInit {
  readonly encodeBody: "automatic" | "manual";
}

const { FixedLengthStream } = globalThis as {
  readonly FixedLengthStream?: new (sizeBytes: number) => TransformStream<Uint8Array, Uint8Array>;
};

function responseOf(sent: Answer, method: string): Response {
  const { status, body, done } = sent;
  const fields = fieldsOf(sent);
  const headers = new Headers();
  for (let at = 0; at < fields.length; at += 2) {
    headers.append(fields[at] as string, fields[at + 1] as string);
  }
  const init: CodedInit = {
    status,
    headers,
    encodeBody: headers.has("content-encoding") ? "manual" : "automatic",
  };
  if (!(body instanceof ReadableStream) || method === "HEAD") done();
  if (body === null || method === "HEAD") return new Response(null, init);
  if (body instanceof ReadableStream) {
    const ended = body.pipeThrough(endingWith(done));
    const length = headers.get("content-length");
    // A Worker sends the length of such a stream alone.
    const sized =
      length === null || FixedLengthStream === undefined
        ? ended
        : ended.pipeThrough(new FixedLengthStream(Number(length)));
    return new Response(sized, init);
  }
  const bytes = body instanceof Uint8Array ? body : joined(body);
  return new Response(bytes as Uint8Array<ArrayBuffer>, init);
}

/** Passes a body on, and calls `done` when it is read, has failed or is read no longer. */
function endingWith(done: () => void): TransformStream<Uint8Array, Uint8Array> {
  let isDone = false;
  const end = (): void => {
    if (!isDone) done();
    isDone = true;
  };
  return new TransformStream({ flush: end, cancel: end });
}
