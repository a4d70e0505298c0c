/** The reply that an intent means: the entity, a part of it, or a 304, 412 or 416 without it. */
import type { Place } from "../lib/turns.ts";
import type { Ask, FieldsByName } from "./ask.ts";
import type { Found, Reply, Deferred } from "./outcome.ts";
import { deny, type Denial } from "../public/problems.ts";
import { rawOf, type Entity, type HeaderFields, type Validators } from "./serve/entity.ts";
import { intentOf, likelyForms, type Intent, type Stop } from "./serve/intent.ts";
import type { ByteRange } from "./serve/stream.ts";

/** All that the header of an answer says, before a call is counted for it. */
interface Plan {
  /** The forms of which one will be sent. */
  readonly forms: readonly [Validators, ...Validators[]];
  /** Null: only a body that is made tells. */
  readonly intent: Intent | null;
  /** Whether the body takes work, for which the caller needs a place. */
  readonly isLaborious: boolean;
}

export function planOf(found: Found | Deferred, ask: Ask): Plan {
  if (found.kind === "deferred") {
    const forms = likelyForms(found.tags, ask.headers);
    return { forms, intent: null, isLaborious: found.isLaborious };
  }
  const intent = intentOf(found.forms, ask);
  const { entity } = intent;
  return { forms: [entity], intent, isLaborious: isLaborious(entity.body, ask.method) };
}

/** The answer without the entity. */
export function stoppedReply(
  stop: Stop,
  { cacheControl }: Pick<Found, "cacheControl">,
): Reply | Denial {
  if (stop.status === 412) {
    return deny("precondition_failed", "The answer is another version than these fields ask for.");
  }
  return { kind: "reply", status: 304, raw: stop.form.notModified, cacheControl, body: null };
}

export function unsatisfiable({ entity: { sizeBytes } }: Intent): Denial {
  const detail = `The file has ${sizeBytes} bytes; Range asks for none of them.`;
  return deny("range_not_satisfiable", detail, { sizeBytes });
}

/** An intent to send a part of the entity or the whole. */
type Sending = Exclude<Intent, { readonly status: 416 }>;

/** The reply that the intent means. Opens a body that is not in memory; rejects if it cannot. */
export function replyOf(
  intent: Sending,
  { cacheControl }: Found | Deferred,
  { method, headers }: Ask,
  place: Place,
): Reply | Promise<Reply> {
  const { entity, status } = intent;
  const range = status === 206 ? intent.range : undefined;
  const raw = range === undefined ? entity.raw : rawOf(partFields(entity, range, headers));
  const isHead = method === "HEAD";
  const { body: stored } = entity;
  if (isHead && !(typeof stored === "function" && stored.isUnread === true)) {
    return { kind: "reply", status, raw, cacheControl, body: null };
  }
  const send = (body: Exclude<Reply["body"], null>): Reply => {
    const isPart = range !== undefined && body instanceof Uint8Array;
    const sent = isPart ? body.subarray(range.first, range.last + 1) : body;
    return { kind: "reply", status, raw, cacheControl, body: sent };
  };
  if (typeof stored !== "function") return send(stored);
  const opening = stored(place, range);
  if (!isHead) return opening.then(send);
  return opening.then(async (body) => {
    if (body instanceof ReadableStream) await body.cancel();
    return { kind: "reply", status, raw, cacheControl, body: null };
  });
}

/** Whether the answer with this body takes work. HEAD opens only a body whose bytes nobody has verified yet. */
const isLaborious = (body: Entity["body"], method: string): boolean =>
  typeof body === "function" &&
  body.isLaborious === true &&
  (method !== "HEAD" || body.isUnread === true);

/**
 * Chromium compares Unencoded-Digest, which is of the whole file, with the bytes of the part, and fails
 * the fetch. So a part for a browser has none. Browsers send Sec-Fetch-Site; other programs may send
 * Sec-Fetch-Mode, as the fetch of Node does.
 */
function partFields(
  { fields, sizeBytes }: Entity,
  { first, last }: ByteRange,
  { "sec-fetch-site": fetchSite }: FieldsByName,
): HeaderFields {
  const { "unencoded-digest": digest = "", ...others } = fields;
  return {
    ...others,
    ...(fetchSite === undefined && { "unencoded-digest": digest }),
    "content-length": String(last - first + 1),
    "content-range": `bytes ${first}-${last}/${sizeBytes}`,
  };
}
