/**
 * The operator's door: a Worker of its own, with its own address, by which `accounts`, `keys` and `links` change the state
 * (`--state https://:SECRET@HOST`). It takes POST with the secret alone. To everybody else there is nothing here.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { OBJECT_NAME, REGISTRY } from "../../state/objects/objects-state.ts";
import { isLogEntry } from "../../state/account-log.ts";
import { forwarded, type StateBindings } from "./object-door.ts";

/** The bindings and variables of the door. */
export interface DoorEnvironment extends StateBindings {
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
/** See RegistryOperations.write. */
const change = z.tuple([
  z.string(),
  z.array(z.tuple([z.string(), z.string().nullable()])),
  z.boolean(),
]);

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
    if (object === REGISTRY && operation.operation === "write" && !isLogged(operation.args))
      return new Response("A change of accounts has no entry in their log", { status: 400 });
    return forwarded(environment, object, JSON.stringify(operation));
  },
};

/** Whether a change of accounts, keys or links brings its entry of their log; a copy into an empty state brings all. */
function isLogged(args: readonly unknown[]): boolean {
  const sent = change.safeParse(args);
  if (!sent.success) return false;
  const [, items, isFill] = sent.data;
  const names = items.map(([name]) => name);
  const isChange = names.some((name) => /^(?:accounts|keys|key-ids):/.test(name));
  return isFill || !isChange || names.some(isLogEntry);
}

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
