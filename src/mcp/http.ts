/** Serves the tools at POST /mcp. Each caller's key and address go on to the API. */
import { KEY_PREFIX } from "../lib/secrets.ts";
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
import { addressGroup, wholeAddress } from "../core/client-address.ts";
import { apiAt, connectionsTo } from "./api.ts";
import { Callers } from "./caller-shares.ts";
import { mcpServer } from "./tools.ts";

const PATH = "/mcp";
/** The largest question: a basket of 100 contracts has a tenth of it. */
const SETTINGS = { legacy: "stateless", maxRequestBodySize: 100_000 } as const;
/** Where the API reads keys, and how each key begins. */
const KEY_FIELDS: ReadonlySet<string> = new Set(["authorization", "x-api-key"]);
/** Fields that frame a message, make it conditional or name its sender. They are never passed on. */
const OF_MESSAGE =
  /^(?:accept|connection$|content-|expect$|forwarded$|host$|if-|keep-alive$|proxy-|range$|te$|trailer$|transfer-|upgrade|via$|x-forwarded-|x-real-ip$)/;

/**
 * Makes the server. Requests may name this machine or `hosts` in Host and Origin, so that no page of
 * another site reaches it by a changed name (DNS rebinding). `onError` gets, in words, why an answer
 * could not be sent. A caller is an address, found behind `trustedHops` proxies as `clientAddress` does.
 */
export function mcpHttpServer(
  url: string,
  hosts: readonly string[],
  onError: (message: string) => void,
  trustedHops = 0,
): Server {
  const connections = connectionsTo(url);
  const callers = new Callers();
  const names = [...localhostAllowedHostnames(), ...hosts];
  // A handler for each request: what the SDK gives of an older agent's is a copy without the address.
  const tools = (request: ServerRequest): Promise<Response> => {
    const forwardedFor = request.headers.get("x-forwarded-for") ?? undefined;
    const address = wholeAddress(request.ip, forwardedFor, trustedHops);
    const fields = { ...keysIn(request), "x-forwarded-for": address };
    const api = apiAt(url, fields, connections);
    const ask = callers.asking(addressGroup(address), api, request.signal);
    return createMcpHandler(() => mcpServer(ask), SETTINGS).fetch(request);
  };
  const answer = (request: ServerRequest): Response | Promise<Response> =>
    hostHeaderValidationResponse(request, names) ??
    originValidationResponse(request, names) ??
    // A query may hold a key, which is not read there.
    (request.url === new URL(PATH, request.url).href
      ? tools(request)
      : new Response(`There is nothing here: POST ${PATH}, without a query\n`, { status: 404 }));
  return createServer((req, res) => {
    Promise.resolve(answer(new NodeRequest({ req, res })))
      .then((response) => sendNodeResponse(res, response))
      .catch((error: unknown) => {
        onError(reasonOf(error));
        res.destroy();
      });
  });
}

/** Also keys in wrong places: the API refuses them, so that no caller gets the free slice unawares. */
const keysIn = ({ headers }: ServerRequest): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(
      ([name, value]) =>
        KEY_FIELDS.has(name) || (value.includes(KEY_PREFIX) && !OF_MESSAGE.test(name)),
    ),
  );
