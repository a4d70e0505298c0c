/** The Worker with a bucket that answers nothing while a test says so. */
import type { Bucket } from "../../src/hosts/worker/bindings.ts";
import worker, { type Environment } from "../../src/hosts/worker/worker.ts";

export { CallsObject, RegistryObject } from "../../src/hosts/worker/worker.ts";

let hangs = true;

export default {
  async fetch(request: Request, environment: Environment): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/hang" || pathname === "/go-on") {
      hangs = pathname === "/hang";
      return new Response(null);
    }
    const { SNAPSHOTS: bucket } = environment;
    const asked = <T>(ask: () => Promise<T>): Promise<T> => (hangs ? hanging() : ask());
    const own: Bucket = {
      get: (...all) => asked(() => bucket.get(...all)),
      head: (key) => asked(() => bucket.head(key)),
      list: (wanted) => asked(() => bucket.list(wanted)),
      put: (...all) => bucket.put(...all),
      delete: (key) => bucket.delete(key),
    };
    return worker.fetch(request, { ...environment, SNAPSHOTS: own });
  },
};

/** The platform ends a request at once if nothing that it waits for can happen; a timer can. */
const hanging = async (): Promise<never> => {
  for (;;) await new Promise((resolve) => setTimeout(resolve, 1_000));
};
