/**
 * The operator's door: a Worker of its own, with its own address, by which `accounts`, `keys` and `links` change the state
 * (`--state https://:SECRET@HOST`). It takes POST with the secret alone. To everybody else there is nothing here.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { OBJECT_NAME } from "../../state/objects/objects-state.ts";
import { forward, type StateBindings } from "./object-door.ts";

/** The bindings and variables of the door. */
interface DoorEnvironment extends StateBindings {
  /** SHA-256 (hex) of the secret. */
  readonly DOOR_SECRET_SHA256?: string;
}

/** A copy of a state is one message. */
const BODY_BYTES_MAX = 32_000_000;
const message = z.object({
  object: z.string().regex(OBJECT_NAME),
  operation: z.string(),
  args: z.array(z.unknown()),
});

const NOTHING = (): Response => new Response(null, { status: 404 });

export default {
  async fetch(request: Request, environment: DoorEnvironment): Promise<Response> {
    const { headers, method } = request;
    if (method !== "POST" || !isOperator(headers.get("authorization"), environment))
      return NOTHING();
    if (Number(headers.get("content-length") ?? Infinity) > BODY_BYTES_MAX)
      return new Response("The message is too large", { status: 413 });
    const sent = message.safeParse(await request.json().catch(() => null));
    if (!sent.success)
      return new Response("The message is not one of chipboard's", { status: 400 });
    const { object, ...operation } = sent.data;
    return forward(environment, object, JSON.stringify(operation));
  },
};

/** Compares hashes, so that the time says nothing of the secret. */
function isOperator(
  authorization: string | null,
  { DOOR_SECRET_SHA256 }: DoorEnvironment,
): boolean {
  const secret = /^Bearer (.+)$/.exec(authorization ?? "")?.[1] ?? "";
  const sent = createHash("sha256").update(secret).digest();
  const held = Buffer.from(DOOR_SECRET_SHA256 ?? "", "hex");
  return held.length === sent.length && timingSafeEqual(held, sent);
}
