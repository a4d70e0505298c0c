/** Serves the tools at POST /mcp. Each caller's key and address go on to the API. */
import { createServer, type Server } from "node:http";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { reasonOf } from "../lib/errors.ts";
import { apiAt } from "./api.ts";
import { mcpServer } from "./tools.ts";

const PATH = "/mcp";
/** The largest question: a basket of 100 contracts has a tenth of it. */
const REQUEST_BYTES_MAX = 100_000;
/** What of the caller the API gets to see. */
const PASSED_ON = ["authorization", "x-api-key", "x-forwarded-for"];

/**
 * Makes the server. Requests may name this machine or `hosts` in Host and Origin, so that no page of
 * another site reaches it by a changed name (DNS rebinding). `onError` gets what went wrong, in words.
 */
export function mcpHttpServer(
  url: string,
  hosts: readonly string[],
  onError: (message: string) => void,
): Server {
  const names = [...localhostAllowedHostnames(), ...hosts];
  const failed = (error: unknown): void => onError(reasonOf(error));
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const sent = PASSED_ON.map((name) => [name, requestInfo?.headers.get(name)] as const);
      return mcpServer(
        apiAt(
          url,
          Object.fromEntries(sent.flatMap(([name, value]) => (value ? [[name, value]] : []))),
        ),
      );
    },
    { legacy: "stateless", maxRequestBodySize: REQUEST_BYTES_MAX, onerror: failed },
  );
  const answer = (request: Request): Response | Promise<Response> =>
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    (new URL(request.url).pathname === PATH
      ? handler.fetch(request)
      : new Response(`There is nothing here: POST ${PATH}\n`, { status: 404 }));
  const server = createServer((req, res) => {
    // The proxy before the API trusts the last address of the list.
    const before = req.headers["x-forwarded-for"];
    req.headers["x-forwarded-for"] = [before, req.socket.remoteAddress].filter(Boolean).join(", ");
    Promise.resolve(answer(new NodeRequest({ req, res })))
      .then((response) => sendNodeResponse(res, response))
      .catch((error: unknown) => {
        failed(error);
        res.destroy();
      });
  });
  return server.on("close", () => void handler.close());
}
