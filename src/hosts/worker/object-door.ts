/** How objects are called: one operation a request, as JSON. */
import { UnreachableError } from "../../lib/errors.ts";
import type { Call } from "../../state/objects/objects-state.ts";
import type { ObjectNamespace } from "./bindings.ts";

/** One operation, as it is sent. */
interface Message {
  readonly operation: string;
  readonly args: readonly unknown[];
}

type Operation = (...args: readonly never[]) => unknown;

/** The handler of an object's requests. Only the named operations can be asked for. */
export const handlerOf =
  <T extends object>(object: T, names: readonly (keyof T & string)[]) =>
  async (request: Request): Promise<Response> => {
    const { operation, args } = (await request.json()) as Message;
    const name = names.find((each) => each === operation);
    if (name === undefined) return new Response(`No operation ${operation}`, { status: 400 });
    try {
      const does = (object[name] as Operation).bind(object);
      return Response.json(does(...(args as readonly never[])) ?? null);
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  };

/** The bindings of a Worker that uses the state. */
export interface StateBindings {
  readonly REGISTRY: ObjectNamespace;
  readonly CALLS: ObjectNamespace;
}

/** Sends the JSON text of a message to an object, as it is. */
export function forward(
  { REGISTRY, CALLS }: StateBindings,
  object: string,
  body: string,
): Promise<Response> {
  const objects = object === "registry" ? REGISTRY : CALLS;
  return objects.get(objects.idFromName(object)).fetch("https://object/", { method: "POST", body });
}

/** Calls objects by the bindings of the Worker itself. */
export const callBy =
  (bindings: StateBindings): Call =>
  async (object, operation, args) => {
    let reason: string;
    try {
      const answer = await forward(bindings, object, JSON.stringify({ operation, args }));
      if (answer.ok) return (await answer.json()) as never;
      reason = await answer.text();
    } catch (error) {
      reason = String(error);
    }
    throw new UnreachableError(`The object ${object.replace(/:.*/, "")} failed: ${reason}`);
  };
