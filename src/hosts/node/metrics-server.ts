/** Serves Prometheus metrics (text format 0.0.4) on a separate port. */
import { Registry } from "@prometheus-io/client";
import { Connections, limitConnections, singly } from "./connections.ts";
import { CONNECTION_LIMITS, METRICS_CONNECTIONS_MAX } from "../../lib/limits.ts";
import { createHttpServer, listen } from "./server.ts";

/**
 * Answers /metrics, with any query, with the text that `read` returns, and other paths with 404. `url`
 * has the path, and the actual port. `onRefused` is called for each connection closed at once because too many are
 * open; one address cannot take the last tenth of the places. Throws InputError if the server cannot listen on the
 * address.
 */
export async function startMetricsServer(
  host: string,
  port: number,
  read: () => Promise<string>,
  onRefused: () => void,
): Promise<{ readonly url: string; readonly connections: Connections }> {
  const server = createHttpServer(CONNECTION_LIMITS, null);
  server.maxConnections = METRICS_CONNECTIONS_MAX;
  server.on("drop", onRefused);
  limitConnections(server, METRICS_CONNECTIONS_MAX, METRICS_CONNECTIONS_MAX, onRefused);
  server.timeout = CONNECTION_LIMITS.stalledMs;
  const answer = singly((request, response) => {
    response.setHeader("x-content-type-options", "nosniff");
    const { method = "", url: target = "" } = request;
    // Prometheus adds a query if its configuration has `params`.
    if (target.replace(/\?.*$/s, "") !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    if (!["GET", "HEAD"].includes(method)) {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return;
    }
    void read().then(
      (text) =>
        response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const connections = new Connections(server, answer);
  const url = `${await listen(server, "--metrics-port", host, port)}/metrics`;
  return { url, connections };
}
