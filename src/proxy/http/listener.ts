/** Connects the app to the `request` event of Node's server. */
import type { RequestListener } from "node:http";
import type { H3 } from "h3";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import type { Backlog } from "./backlog.ts";

/**
 * Makes the listener. It never rejects: `onFailure` receives an error from outside the app, or of a
 * response that cannot be sent, and the connection is closed.
 */
export function appListener(
  app: H3,
  backlog: Backlog,
  onFailure: (error: unknown) => void,
): RequestListener {
  return async (request, response) => {
    try {
      // The proxy does not use Host, and h3 fails on an invalid one. Checks read rawHeaders, which
      // keep what the client sent.
      request.headers.host = "localhost";
      request.url = originForm(request.url ?? "");
      const answer = await app.fetch(new NodeRequest({ req: request, res: response }));
      const sending = sendNodeResponse(response, answer);
      backlog.wait(response);
      await sending;
      // What a stream has left to the socket.
      backlog.wait(response);
    } catch (error) {
      onFailure(error);
      response.destroy();
    }
  };
}

/** Turns a target in absolute form (RFC 9112, 3.2.2) into origin form; leaves others unchanged. */
function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, "");
  // Only the absolute form can lack a path; the path is then "/" (RFC 9110, 4.2.3).
  return rest === "" || (rest.startsWith("?") && rest !== target) ? `/${rest}` : rest;
}
