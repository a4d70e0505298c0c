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
const SETTINGS = { legacy: "stateless", maxRequestBodySize: 100_000 } as const;
/** A key is in one of two; in the others the API refuses it, so that no caller gets the free slice unawares. */
const KEY_FIELD = /^(?:authorization|(?:x-)?api-?key|(?:x-(?:api|auth)-)?token)$/;

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
  // A handler for each request: what the SDK gives of an older agent's is a copy without the address.
  const answer = (request: ServerRequest): Response | Promise<Response> =>
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    // A query may hold a key, which is not read there.
    (request.url === new URL(PATH, request.url).href
      ? createMcpHandler(() => mcpServer(apiAt(url, passedOn(request))), SETTINGS).fetch(request)
      : new Response(`There is nothing here: POST ${PATH}\n`, { status: 404 }));
  return createServer((req, res) => {
    Promise.resolve(answer(new NodeRequest({ req, res })))
      .then((response) => sendNodeResponse(res, response))
      .catch((error: unknown) => {
        onError(reasonOf(error));
        res.destroy();
      });
  });
}

/** The caller's key, and its address at the end of the list, where the proxy before the API trusts it. */
function passedOn({ headers, ip = "unknown" }: ServerRequest): Record<string, string> {
  const keys = [...headers].filter(([name]) => KEY_FIELD.test(name));
  const addresses = [headers.get("x-forwarded-for"), ip].filter(Boolean).join(", ");
  return { ...Object.fromEntries(keys), "x-forwarded-for": addresses };
}
