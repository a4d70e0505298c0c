/** The Worker with a clock that a test moves: a field of the request, which is not passed on, tells the time. */
import { hostOf, type Environment } from "../../src/hosts/worker/worker.ts";

export { CallsObject, RegistryObject } from "../../src/hosts/worker/worker.ts";

const FIELD = "x-test-now";
const clock = { ms: 0, now: () => clock.ms };
let host: ReturnType<typeof hostOf> | null = null;

export default {
  async fetch(request: Request, environment: Environment): Promise<Response> {
    clock.ms = Number(request.headers.get(FIELD));
    const headers = new Headers(request.headers);
    headers.delete(FIELD);
    const { cf } = request as { readonly cf?: unknown };
    const asked = new Request(request, { headers, cf } as RequestInit);
    host ??= hostOf(environment, new URL(request.url).origin, clock);
    await host.refresh();
    return host.app.fetch(asked);
  },
};
