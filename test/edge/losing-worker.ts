/** The Worker with objects that lose their counts when a test says so. */
import { CallsObject as Calls } from "../../src/hosts/worker/calls-object.ts";
import type { ObjectContext } from "../../src/hosts/worker/bindings.ts";
import { callBy, type StateBindings } from "../../src/hosts/worker/object-door.ts";
import { ADDRESS_OBJECTS, REGISTRY } from "../../src/state/objects/objects-state.ts";

export { RegistryObject } from "../../src/hosts/worker/registry-object.ts";

const LOSE = "https://object/lose";

export class CallsObject {
  #calls: Calls;
  readonly #context: ObjectContext;

  constructor(context: ObjectContext) {
    this.#context = context;
    this.#calls = new Calls(context);
  }

  async fetch(request: Request): Promise<Response> {
    if (request.url !== LOSE) return this.#calls.fetch(request);
    for (const table of ["calls", "counts"]) this.#context.storage.sql.exec(`DELETE FROM ${table}`);
    // Nothing of them is in memory any more.
    this.#calls = new Calls(this.#context);
    return Response.json(null);
  }
}

export default {
  async fetch(_request: Request, bindings: StateBindings): Promise<Response> {
    const items = await callBy(bindings)(REGISTRY, "items", []);
    const accounts = items
      .filter(([name]) => name.startsWith("accounts:"))
      .map(([, json]) => `account:${(JSON.parse(json) as { id: string }).id}`);
    const addresses = Array.from({ length: ADDRESS_OBJECTS }, (_, at) => `addresses:${at}`);
    const { CALLS } = bindings;
    for (const name of [...accounts, ...addresses])
      await CALLS.get(CALLS.idFromName(name)).fetch(LOSE, { method: "POST" });
    return new Response("lost");
  },
};
