/** Proves that an answer is a file of its tier, by SHA256SUMS and the root in the entry of the log. */
import { CHECKED_FILE_BYTES_MAX, SUMS_BYTES_MAX } from "../lib/limits.ts";
import { DamageError, InputError, UnreachableError } from "../lib/errors.ts";
import { sessionUtc } from "../market/session.ts";
import { KEYLESS, TIER_NAMES, TIERS, tierSession, type TierName } from "../market/tier.ts";
import { SUMS_ROUTE } from "../public/routes.ts";
import { delayOf, withDelay } from "../render/envelope.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { isPublication, type Publication, type StoredEntry } from "../snapshot/log/entry.ts";
import { parseSums } from "../snapshot/sums.ts";
import { snapshotText } from "../store/paths.ts";
import { fetchEntry } from "./log-proof.ts";
import {
  refusalOf,
  unexpectedAnswer,
  type ServiceAnswer,
  type UntrustedService,
} from "./untrusted-service.ts";
import { HeadChangedError, proven, unproven, type Step } from "./step.ts";
import { LIVE, type Target } from "./target.ts";

/** An answer with data, and the entry of the log that it names. */
interface EntryAnswer extends ServiceAnswer {
  readonly stored: StoredEntry;
  readonly publication: Publication;
}

/** The answer of the publication asked for; its bytes have the digest that it names. */
export async function answerOf(
  service: UntrustedService,
  { path, vintage }: Target,
): Promise<EntryAnswer> {
  const answer = await service.get(path, CHECKED_FILE_BYTES_MAX);
  const { what, status, headers } = answer;
  if (status === 308 && headers.location !== undefined) {
    throw new InputError(`${what}: the present address is ${headers.location}`);
  }
  if (status !== 200) {
    const error = unexpectedAnswer(answer, "an answer with data");
    const refusal = refusalOf(answer);
    if (refusal === null || error instanceof UnreachableError) throw error;
    throw new InputError(`${what} answers ${refusal.text}`);
  }
  const named = headers["x-publication"];
  if (typeof named !== "string" || !/^[1-9]\d{0,9}$/.test(named)) {
    throw new DamageError(`${what} names no entry of the log in x-publication`);
  }
  const stored = await fetchEntry(service, Number(named));
  if (stored === null) {
    throw new DamageError(`${what} names entry ${named} of the log, which does not have it`);
  }
  const { entry } = stored;
  if (!isPublication(entry)) {
    throw new DamageError(`${what} names entry ${named} of the log, which is a prune`);
  }
  if (headers["x-snapshot"] !== snapshotText(entry)) {
    throw new DamageError(
      `${what} names the snapshot ${said(headers["x-snapshot"])}, and entry ${named} of the log ${snapshotText(entry)}`,
    );
  }
  if (vintage.kind === "publication" && vintage.number !== entry.number) {
    throw new DamageError(`${what} answers with entry ${named}, which was not asked for`);
  }
  if (vintage.kind === "session" && headers["x-session-utc"] !== sessionUtc(vintage.session)) {
    throw new DamageError(
      `${what} names the session ${said(headers["x-session-utc"])}, which was not asked for`,
    );
  }
  if (headers["unencoded-digest"] === undefined) {
    throw new DamageError(`${what} has no unencoded-digest`);
  }
  return { ...answer, stored, publication: entry };
}

/** The answer's file is in SHA256SUMS, and that is a root of the entry. */
export async function fileSteps(
  service: UntrustedService,
  target: Target,
  answer: EntryAnswer,
): Promise<Step[]> {
  const { number, roots } = answer.publication;
  if (target.file === null) {
    const why =
      "the service computes baskets and selections for each request, so they are no published files";
    return [unproven("sums", `The answer is not provable: ${why}`)];
  }
  if (Object.values(roots).every((root) => root === null)) {
    const why = `entry ${number} of the log has no roots, because its snapshot has no SHA256SUMS`;
    return [unproven("sums", `The answer is not provable: ${why}`)];
  }
  const sums = await service.get(`${SUMS_ROUTE.path}?publication=${number}`, SUMS_BYTES_MAX);
  // Without a key, the sums of a snapshot are gone when it is no longer the head.
  if (sums.status === 401 && refusalOf(sums)?.code === "key_required") {
    throw new HeadChangedError(
      `${answer.what} answers with entry ${number}, but the service refuses SHA256SUMS of this entry, as if another were the head`,
    );
  }
  if (sums.status !== 200)
    throw unexpectedAnswer(sums, "the SHA256SUMS of the tier, which cost a call");
  const root = sha256Hex(sums.body);
  const tier = TIER_NAMES.find((name) => roots[name] === root);
  if (tier === undefined) {
    throw new DamageError(
      `SHA256SUMS (${sums.what}) has the SHA-256 ${root}, which is no root in entry ${number} of the log`,
    );
  }
  // Everybody without a key, and nobody with one, is of the tier free.
  if (service.hasKey === (tier === KEYLESS.name)) {
    throw new DamageError(
      `SHA256SUMS (${sums.what}) belongs to the tier ${tier}, and the key was${service.hasKey ? "" : " not"} sent`,
    );
  }
  const sha256 = parseSums(sums.body, `SHA256SUMS (${sums.what})`).get(target.file);
  const raised = requireFile(answer, target, sha256, tier);
  return [
    proven("sums", `The answer is ${target.file} in SHA256SUMS of the tier ${tier}${raised}`),
    proven(
      "root",
      `SHA256SUMS has the SHA-256 that entry ${number} of the log says of the tier ${tier}`,
    ),
  ];
}

/**
 * Throws DamageError unless the answer is the file with this SHA-256, as it was published or, if it is live,
 * with a raised delay. Returns what to say of the delay.
 */
function requireFile(
  { what, headers, body, publication }: EntryAnswer,
  { file, vintage }: Target,
  sha256: string | undefined,
  tier: TierName,
): string {
  const { delaySessions } = TIERS[tier];
  const delay = delayOf(body);
  const isLive = vintage === LIVE;
  const expected = sessionUtc(tierSession(TIERS[tier], publication.session));
  if (headers["x-session-utc"] !== expected) {
    throw new DamageError(
      `${what} names the session ${said(headers["x-session-utc"])}, and its entry of the log means ${expected}`,
    );
  }
  const named = said(headers["x-delayed-sessions"]);
  if (delay !== null && named !== String(delay)) {
    throw new DamageError(`${what} has two numbers of delayed sessions`);
  }
  const raised = /^\d{1,9}$/.test(named) ? Number(named) - delaySessions : Number.NaN;
  if (!(raised === 0 || (isLive && raised > 0))) {
    throw new DamageError(
      `${what} names ${named} delayed sessions, expected ${delaySessions}${isLive ? " or more" : ""}`,
    );
  }
  if (sha256Hex(body) === sha256) return "";
  if (sha256Hex(withDelay(body, delaySessions)) === sha256) {
    return `, with its delayed_sessions put back from ${delay} to ${delaySessions}`;
  }
  throw new DamageError(
    `${what} has the SHA-256 ${sha256Hex(body)}, and SHA256SUMS of the tier ${tier} says ` +
      `${sha256 ?? "nothing"} of ${file}`,
  );
}

/** A field of an answer, for messages. */
const said = (field: string | string[] | undefined): string => String(field ?? "(none)");
