/**
 * Sending a stored file that is not held in memory. It was proven whole when its snapshot was
 * loaded; what is read later is proven again on its way out. The last piece is held back until the
 * digest is right, so that a damaged file never arrives complete: the stream fails, the connection
 * is cut short of its content-length, and the client knows.
 */
import { createHash } from "node:crypto";
import { raiseDelay } from "../../render/envelope.ts";
import { DamageError } from "../../lib/errors.ts";

/** More than an envelope's head is long (see raiseDelay). */
const HEAD_BYTES = 128;

/**
 * The same bytes; fails with DamageError, instead of ending, where their SHA-256 (hex) is another,
 * and tells `onDamage`.
 */
export function verified(
  sha256: string,
  where: string,
  onDamage: (error: DamageError) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const hash = createHash("sha256");
  let held: Uint8Array | null = null;
  return new TransformStream({
    transform(piece, controller) {
      hash.update(piece);
      if (held !== null) controller.enqueue(held);
      held = piece;
    },
    flush(controller) {
      if (hash.digest("hex") !== sha256) {
        const error = damaged(where, sha256);
        onDamage(error);
        throw error;
      }
      if (held !== null) controller.enqueue(held);
    },
  });
}

/** What is stored at `where` has another SHA-256 than the one expected. */
export const damaged = (where: string, sha256: string): DamageError =>
  new DamageError(`${where} is damaged: its SHA-256 is not ${sha256}`);

/** A payload's bytes with `delayed_sessions` raised on the way. */
export function raised(sessions: number): TransformStream<Uint8Array, Uint8Array> {
  let head: Buffer | null = Buffer.alloc(0);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      if (head === null) return controller.enqueue(piece);
      head = Buffer.concat([head, piece]);
      if (head.length < HEAD_BYTES) return;
      controller.enqueue(raiseDelay(head, sessions));
      head = null;
    },
    flush(controller) {
      if (head !== null) controller.enqueue(raiseDelay(head, sessions));
    },
  });
}
