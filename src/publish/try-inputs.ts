/** Reads what a run would publish, without judging, rendering or writing it: for `doctor` and `guard`. */
import type { ObjectStore } from "../ports/store.ts";
import { loadBase } from "./base.ts";
import { layOver } from "./lay-over.ts";
import { readInputs, type Inputs } from "./read-inputs.ts";
import type { PublishRequest } from "./request.ts";

/**
 * Reads every input once, and lays it over the head. Throws InputError with every complaint of `publish` about the
 * inputs, and what `loadBase` throws.
 */
export async function tryInputs(request: PublishRequest, store: ObjectStore): Promise<Inputs> {
  const inputs = await readInputs(request, store, () => undefined, new Map());
  // Faults of the inputs are told even if the store is away.
  if (inputs.complaints.isEarly) inputs.complaints.raise();
  layOver(await loadBase(store), inputs, store.location);
  return inputs;
}
