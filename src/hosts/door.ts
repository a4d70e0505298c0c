/** The door of every host: h3's app with one handler for all addresses, which asks the core. */
import { H3, type H3Event } from "h3";
import { answer, fieldsOf, type Answer } from "../core/answer.ts";
import type { Ask } from "../core/ask.ts";
import type { World } from "../core/world.ts";
import { joined } from "../lib/bytes.ts";

/** How a host reads a request, and sends its answer. */
export interface Host {
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

/**
 * A host that has requests and responses of the Fetch standard. The platform joins repeated fields and resolves dot
 * segments before that. `peerOf` gives the client's address.
 */
export const fetchHost = (peerOf: (request: Request) => string | undefined): Host => ({
  askOf: ({ req }) => {
    const { host, pathname, search } = new URL(req.url);
    const headers = { ...Object.fromEntries(req.headers), host };
    return {
      method: req.method,
      target: pathname + search,
      httpVersion: "1.1",
      headers,
      rawHeaders: Object.entries(headers).flat(),
      peer: peerOf(req),
      arrivedMs: performance.now(),
    };
  },
  send: ({ req }, sent) => responseOf(sent, req.method),
});

function responseOf(sent: Answer, method: string): Response {
  const { status, body, done } = sent;
  const fields = fieldsOf(sent);
  const headers = new Headers();
  for (let at = 0; at < fields.length; at += 2) {
    headers.append(fields[at] as string, fields[at + 1] as string);
  }
  if (!(body instanceof ReadableStream) || method === "HEAD") done();
  if (body === null || method === "HEAD") return new Response(null, { status, headers });
  if (body instanceof ReadableStream) {
    return new Response(body.pipeThrough(endingWith(done)), { status, headers });
  }
  const bytes = body instanceof Uint8Array ? body : joined(body);
  return new Response(bytes as Uint8Array<ArrayBuffer>, { status, headers });
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
