/** The door of the service: h3's app, with one handler for all addresses, which asks the core. */
import { H3, type H3Event } from "h3";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { FastResponse } from "srvx";
import { NodeRequest } from "srvx/node";
import { answer, type Answer } from "../../core/answer.ts";
import type { Ask } from "../../core/ask.ts";
import type { World } from "../../core/world.ts";

/** Node's request as the core asks for it. */
class NodeAsk implements Ask {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly headers: Ask["headers"];
  readonly rawHeaders: readonly string[];
  readonly peer: string | undefined;
  readonly arrivedMs = performance.now();

  constructor(request: IncomingMessage) {
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.httpVersion = request.httpVersion;
    this.headers = request.headers;
    this.rawHeaders = request.rawHeaders;
    this.peer = request.socket.remoteAddress;
  }
}

/** What Node hands over. */
interface HttpPair {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** Sends an answer over a connection of Node. */
type Send = (response: ServerResponse, answer: Answer) => void | Promise<void>;

/** The answer is written to the connection by `send`, so h3 gets one that nobody sends. */
const SENT = new FastResponse(null);

/** The requests as they were sent, while h3 has them. */
const asks = new WeakMap<IncomingMessage, Ask>();

/** Makes the app. It takes requests of Node's HTTP server. */
function createApp(world: World, send: Send): H3 {
  // A path with malformed escapes reaches the core and gets a 404.
  const app = new H3({ allowMalformedURL: true, silent: true });
  app.all("/**", async (event: H3Event) => {
    const { req, res } = (event.runtime as { readonly node: HttpPair }).node;
    await send(res, await answer(asks.get(req) as Ask, world));
    return SENT;
  });
  return app;
}

/**
 * Makes the listener. It never rejects: `onFailure` receives an error from outside the core, or of an answer that cannot
 * be sent, and the connection is closed.
 */
export function appListener(
  world: World,
  send: Send,
  onFailure: (error: unknown) => void,
): RequestListener {
  const app = createApp(world, send);
  return async (request, response) => {
    try {
      asks.set(request, new NodeAsk(request));
      // The core has what the client sent. h3 needs neither target nor Host, and fails on invalid ones.
      request.headers.host = "localhost";
      request.url = "/";
      await app.fetch(new NodeRequest({ req: request, res: response }));
      if (!response.headersSent) throw new Error("The app has not answered");
    } catch (error) {
      onFailure(error);
      response.destroy();
    }
  };
}
