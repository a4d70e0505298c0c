/** The state in objects, by the operator's door: `https://:SECRET@HOST`. */
import { InputError, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { isLoopback } from "../../lib/key-address.ts";
import { shownLocation } from "../../lib/secrets.ts";
import type { StateDriver, StatePurpose } from "../../ports/state.ts";
import { openObjects, type Call } from "./objects-state.ts";

const TIMEOUT_MS = 20_000;

/** Opens the state behind the door. Throws InputError for a bad address, NoStateError, and UnreachableError. */
export async function openDoor(location: string, purpose: StatePurpose): Promise<StateDriver> {
  const url = URL.canParse(location) ? new URL(location) : null;
  const isSafe = url !== null && (url.protocol === "https:" || isLoopback(url.hostname));
  const secret = url === null ? "" : secretIn(url);
  if (!isSafe || secret === "") {
    throw new InputError(
      `--state ${JSON.stringify(shownLocation(location))}: expected https://:SECRET@host, the operator's door with its secret`,
    );
  }
  const { origin, pathname } = url;
  return openObjects(
    callAt(origin + pathname, secret, shownLocation(location)),
    shownLocation(location),
    purpose,
  );
}

/** The secret; empty: there is none, or it is not one, as no door's has a `%`. */
function secretIn({ password }: URL): string {
  return password.includes("%") ? "" : password;
}

const callAt =
  (url: string, secret: string, shown: string): Call =>
  async (object, operation, args) => {
    const fail = (reason: string): never => {
      throw new UnreachableError(`State ${shown} (--state) cannot be used: ${reason}`);
    };
    const answer = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ object, operation, args }),
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => fail(reasonIn(error)));
    if (answer.status === 404) fail("there is no door at this address, or it has another secret");
    if (!answer.ok)
      fail(`the door answers ${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    return answer.json().catch((error: unknown) => fail(reasonIn(error))) as never;
  };

/** The cause says more than "fetch failed". */
const reasonIn = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? reasonOf(error.cause) : reasonOf(error);
