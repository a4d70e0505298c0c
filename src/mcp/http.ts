/** Serves the tools at POST /mcp. Each caller's key and address go on to the API. */
import { KEY_PREFIX } from "../lib/secrets.ts";
import type { IncomingMessage, Server } from "node:http";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import type { ServerRequest } from "srvx";
import { NodeRequest, sendNodeResponse } from "srvx/node";
import { addressGroup, shortened, wholeAddress } from "../core/client-address.ts";
import { limitConnections, singly } from "../hosts/node/connections.ts";
import { createHttpServer } from "../hosts/node/server.ts";
import { reasonOf } from "../lib/errors.ts";
import {
  CONNECTION_LIMITS,
  CONNECTIONS_MAX,
  CONNECTIONS_PER_ADDRESS,
  ELEMENTS_MAX,
  MESSAGES_MAX,
  QUESTION_BYTES_MAX,
  QUESTION_MS,
} from "../lib/limits.ts";
import { Turns } from "../lib/turns.ts";
import { perSecond } from "../hosts/node/per-second.ts";
import { apiAt, connectionsTo } from "./api.ts";
import { Callers } from "./caller-shares.ts";
import { mcpServer } from "./tools.ts";

/** The bytes before each value of JSON but the first. */
const OPENING = new Set(Buffer.from(",[{"));

const PATH = "/mcp";
/** The tools never change, so nobody has to wait for a message that they did. */
const SETTINGS = { legacy: "stateless", maxSubscriptions: 0 } as const;
const LIMITS = { ...CONNECTION_LIMITS, headersMs: QUESTION_MS, requestMs: QUESTION_MS };
/** Codes of JSON-RPC 2.0, 5.1. */
const UNREADABLE = -32_700;
const INVALID = -32_600;
/** Where the API reads keys. */
const KEY_FIELDS: ReadonlySet<string> = new Set(["authorization", "x-api-key"]);
/** Fields that frame a message, make it conditional or name its sender. They are never passed on. */
const OF_MESSAGE =
  /^(?:accept|connection$|content-|expect$|forwarded$|host$|if-|keep-alive$|proxy-|range$|te$|trailer$|transfer-|upgrade|via$|x-forwarded-|x-real-ip$)/;

/**
 * Makes the server. Requests may name this machine or `hosts` in Host and Origin, so that no page of
 * another site reaches it by a changed name (DNS rebinding). `onError` gets, in words, why an answer
 * could not be sent. A caller is an address, found behind `trustedHops` proxies as `clientAddress` does. Callers take
 * turns message by message: to list the tools takes milliseconds of the only thread, and costs no call.
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
  const turns = new Turns(setImmediate);
  const tools = async (
    request: ServerRequest,
    body: Question,
    left: AbortSignal,
  ): Promise<Response> => {
    const forwardedFor = request.headers.get("x-forwarded-for") ?? undefined;
    const address = wholeAddress(request.ip, forwardedFor, trustedHops);
    const fields = { ...keysIn(request), "x-forwarded-for": address };
    const api = apiAt(url, fields, connections);
    const caller = addressGroup(address);
    const place = turns.placeOf(caller);
    for (let message = 0; message < body.messages; message += 1) await place.turn();
    const ask = callers.asking(caller, api, left);
    const given = request.method === "POST" ? { parsedBody: body.parsed } : {};
    const response = await createMcpHandler(() => mcpServer(ask), SETTINGS).fetch(request, given);
    // Node says it, as the caller asked.
    response.headers.delete("connection");
    return response;
  };
  const answer = async (
    request: ServerRequest,
    req: IncomingMessage,
    left: AbortSignal,
  ): Promise<Response> => {
    const refusal =
      hostHeaderValidationResponse(request, names) ?? originValidationResponse(request, names);
    if (refusal !== undefined) return refusal;
    // A query may hold a key, which is not read there.
    if (request.url !== new URL(PATH, request.url).href)
      return new Response(`There is nothing here: POST ${PATH}, without a query\n`, {
        status: 404,
      });
    const body = request.method === "POST" ? await questionIn(req) : NO_QUESTION;
    return body instanceof Response ? body : tools(request, body, left);
  };
  // A caller who has left is not asked for any more, so a connection ends with its caller's side.
  const server = Object.assign(createHttpServer(LIMITS, null), { httpAllowHalfOpen: false });
  server.timeout = LIMITS.stalledMs;
  server.maxConnections = CONNECTIONS_MAX;
  if (trustedHops === 0) {
    const tell = perSecond(1);
    limitConnections(server, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS, (address, why) => {
      if (tell()) onError(`too many connections ${why}: ${shortened(address)}`);
    });
  }
  const handle = singly((req, res) => {
    const leaving = new AbortController();
    res.once("close", () => leaving.abort());
    answer(new NodeRequest({ req, res }), req, leaving.signal)
      .then((response) => sendNodeResponse(res, response))
      .catch((error: unknown) => {
        // The body of a caller who has left is cut off.
        if (!leaving.signal.aborted) onError(reasonOf(error));
        res.destroy();
      });
  });
  return server.on("request", handle);
}

/** A question, and how many messages it has. */
interface Question {
  readonly parsed: unknown;
  readonly messages: number;
}

const NO_QUESTION: Question = { parsed: undefined, messages: 1 };

/** Reads the body, or refuses it: it is larger than a question, no JSON, or a batch of too many messages. */
async function questionIn(request: IncomingMessage): Promise<Question | Response> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > QUESTION_BYTES_MAX) {
      const message = `Payload too large: expected at most ${QUESTION_BYTES_MAX} bytes`;
      return refuse(413, INVALID, message);
    }
    pieces.push(piece);
  }
  const body = Buffer.concat(pieces);
  const elements = countElements(body);
  if (elements > ELEMENTS_MAX) {
    const message = `A question of ${elements} elements: expected at most ${ELEMENTS_MAX}`;
    return refuse(400, INVALID, message);
  }
  try {
    const parsed: unknown = JSON.parse(String(body));
    const messages = Array.isArray(parsed) ? parsed.length : 1;
    if (messages > MESSAGES_MAX) {
      const message = `A batch of ${messages} messages: expected at most ${MESSAGES_MAX}`;
      return refuse(400, INVALID, message);
    }
    if (hasRepeatedId(parsed)) return refuse(400, INVALID, "Two messages have one id");
    return { parsed, messages };
  } catch {
    return refuse(400, UNREADABLE, "The body is no JSON");
  }
}

/** An upper bound of the values in JSON: one more than its commas and opening brackets. */
function countElements(json: Uint8Array): number {
  let elements = 1;
  for (const byte of json) if (OPENING.has(byte)) elements += 1;
  return elements;
}

/** Whether two messages of a batch have one id: one of their answers would be lost. */
function hasRepeatedId(parsed: unknown): boolean {
  const ids = (Array.isArray(parsed) ? parsed : []).flatMap((message: { id?: unknown } | null) =>
    message?.id === undefined ? [] : [JSON.stringify(message.id)],
  );
  return new Set(ids).size < ids.length;
}

/** An error of JSON-RPC about no message in particular. The rest of a body that was not read ends with the connection. */
const refuse = (status: number, code: number, message: string): Response =>
  Response.json(
    { jsonrpc: "2.0", id: null, error: { code, message } },
    { status, headers: status === 413 ? { connection: "close" } : {} },
  );

/** Also keys in wrong places: the API refuses them, so that no caller gets the free slice unawares. */
const keysIn = ({ headers }: ServerRequest): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(
      ([name, value]) =>
        KEY_FIELDS.has(name) || (value.includes(KEY_PREFIX) && !OF_MESSAGE.test(name)),
    ),
  );
