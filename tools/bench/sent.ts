/** Counts the HTTP requests that this process sends, by any library, with the bytes sent and received. */
import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";

/** Bodies alone; an answer without content-length counts as empty. */
export interface Sent {
  requests: number;
  puts: number;
  bytes: number;
  received: number;
}

/** The requests since the first import of this module. */
export const sent: Sent = { requests: 0, puts: 0, bytes: 0, received: 0 };

subscribe("http.client.response.finish", (message) => {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
  sent.requests += 1;
  sent.puts += request.method === "PUT" ? 1 : 0;
  sent.bytes += Number(request.getHeader("content-length") ?? 0);
  sent.received += Number(response.headers["content-length"] ?? 0);
});
