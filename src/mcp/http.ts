/** Serves the tools at POST /mcp. Each caller's key and address go on to the API. */
import { createServer, type Server } from "node:http";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { ServerRequest } from "srvx";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { reasonOf } from "../lib/errors.ts";
import { apiAt } from "./api.ts";
import { mcpServer } from "./tools.ts";

const PATH = "/mcp";
/** The largest question: a basket of 100 contracts has a tenth of it. */
const REQUEST_BYTES_MAX = 100_000;

/**
 * Makes the server. Requests may name this machine or `hosts` in Host and Origin, so that no page of
 * another site reaches it by a changed name (DNS rebinding). `onError` gets, in words, why an answer
 * could not be sent.
 */
export function mcpHttpServer(
  url: string,
  hosts: readonly string[],
  onError: (message: string) => void,
): Server {
  const names = [...localhostAllowedHostnames(), ...hosts];
  const handler = createMcpHandler(
    ({ requestInfo }) => mcpServer(apiAt(url, passedOn(requestInfo as ServerRequest))),
    { legacy: "stateless", maxRequestBodySize: REQUEST_BYTES_MAX },
  );
  const answer = (request: Request): Response | Promise<Response> =>
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    (new URL(request.url).pathname === PATH
      ? handler.fetch(request)
      : new Response(`There is nothing here: POST ${PATH}\n`, { status: 404 }));
  const server = createServer((req, res) => {
    Promise.resolve(answer(new NodeRequest({ req, res })))
      .then((response) => sendNodeResponse(res, response))
      .catch((error: unknown) => {
        onError(reasonOf(error));
        res.destroy();
      });
  });
  return server.on("close", () => void handler.close());
}

/** The caller's key, and its address at the end of the list, where the proxy before the API trusts it. */
function passedOn({ headers, ip }: ServerRequest): Record<string, string> {
  const addresses = [headers.get("x-forwarded-for"), ip].filter(Boolean).join(", ");
  const fields: Record<string, string> = { "x-forwarded-for": addresses };
  for (const name of ["authorization", "x-api-key"]) {
    const value = headers.get(name);
    if (value !== null) fields[name] = value;
  }
  return fields;
}
