/** Requests and answers of Node's HTTP server at the door. */
import type { H3Event } from "h3";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { FastResponse } from "srvx";
import { NodeRequest } from "srvx/node";
import type { Answer } from "../../core/answer.ts";
import type { Ask } from "../../core/ask.ts";
import type { World } from "../../core/world.ts";
import { doorOf } from "../door.ts";

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

/** Sends an answer over a connection of Node. */
type Send = (response: ServerResponse, answer: Answer) => void | Promise<void>;

/** What Node hands over. */
interface HttpPair {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

const pairOf = ({ runtime }: H3Event): HttpPair => (runtime as { readonly node: HttpPair }).node;

/** The answer is written to the connection by `send`, so h3 gets one that nobody sends. */
const SENT = new FastResponse(null);

/**
 * Makes the listener. It never rejects: `onFailure` receives an error from outside the core, or of an answer that cannot
 * be sent, and the connection is closed.
 */
export function appListener(
  world: World,
  send: Send,
  onFailure: (error: unknown) => void,
): RequestListener {
  // The requests as they were sent, while h3 has them.
  const asks = new WeakMap<IncomingMessage, Ask>();
  const app = doorOf(world, {
    askOf: (event) => asks.get(pairOf(event).req) as Ask,
    send: async (event, answer) => {
      await send(pairOf(event).res, answer);
      return SENT;
    },
  });
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
