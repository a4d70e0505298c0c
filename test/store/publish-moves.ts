/** `publish` for tests whose levels move at will: it accepts whatever the gates on indices and board refuse. */
import { acceptanceOf } from "../../src/feed/gates.ts";
import { RefusedError } from "../../src/lib/errors.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { publish } from "./begun.ts";

/** Publishes. If the gates `series` or `board` refuse, it publishes again with the `--accept` that they name. */
export async function publishMoves(...args: Parameters<typeof publish>): Promise<PublishResult> {
  const [request, ...others] = args;
  try {
    return await publish(...args);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const named = error.details.flatMap(
      (line) => /--accept ((?:series|board)\S*)$/.exec(line)?.[1] ?? [],
    );
    if (named.length === 0) throw error;
    const accept = [...(request.gates.accept ?? []), ...named.map(acceptanceOf)];
    return publish({ ...request, gates: { ...request.gates, accept } }, ...others);
  }
}
