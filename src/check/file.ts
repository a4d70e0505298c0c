/** Proves that an answer is a file of its tier, by SHA256SUMS and the root in the entry of the log. */
import { DamageError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { sessionUtc } from "../market/session.ts";
import { KEYLESS, TIER_NAMES, TIERS, tierSession, type TierName } from "../market/tier.ts";
import { SUMS_ROUTE } from "../proxy/routes.ts";
import { delayOf, withDelay } from "../render/envelope.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { parseSums } from "../snapshot/sums.ts";
import { refusalOf, unexpected, type Answer, type Service } from "./service.ts";
import type { Step } from "./step.ts";

const SUMS_BYTES_MAX = 20_000_000;

/** The answer comes with its digest, which Service has compared. */
export function answerStep({ what, headers, body }: Answer, { number }: Publication): Step {
  if (headers["unencoded-digest"] === undefined) {
    throw new DamageError(`${what} has no unencoded-digest`);
  }
  const told = `${counted(body.length, "byte")} of entry ${number}, as its unencoded-digest says`;
  return { link: "answer", isProven: true, text: `${what}: ${told}` };
}

/**
 * The answer's file is in SHA256SUMS, and that is a root of the entry. Null: without a key, the sums of
 * a snapshot are gone when it is no longer the head.
 */
export async function fileSteps(
  service: Service,
  file: string,
  answer: Answer,
  publication: Publication,
  isLive: boolean,
): Promise<Step[] | null> {
  const { number, roots } = publication;
  const sums = await service.get(`${SUMS_ROUTE.path}?publication=${number}`, SUMS_BYTES_MAX);
  if (sums.status === 401 && refusalOf(sums)?.code === "key_required") return null;
  if (sums.status !== 200) throw unexpected(sums, "the SHA256SUMS of the tier, which cost a call");
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
      `SHA256SUMS (${sums.what}) is that of the tier ${tier}, and the key was${service.hasKey ? "" : " not"} sent`,
    );
  }
  const sha256 = parseSums(sums.body, `SHA256SUMS (${sums.what})`).get(file);
  const raised = requireFile(answer, file, sha256, tier, publication, isLive);
  return [
    {
      link: "sums",
      isProven: true,
      text: `The answer is ${file} in SHA256SUMS of the tier ${tier}${raised}`,
    },
    {
      link: "root",
      isProven: true,
      text: `SHA256SUMS has the SHA-256 that entry ${number} of the log says of the tier ${tier}`,
    },
  ];
}

/**
 * Throws DamageError unless the answer is the file with this SHA-256, as it was published or, if it is live,
 * with a raised delay. Returns what to say of the delay.
 */
function requireFile(
  { what, headers, body }: Answer,
  file: string,
  sha256: string | undefined,
  tier: TierName,
  { session }: Publication,
  isLive: boolean,
): string {
  const { delaySessions } = TIERS[tier];
  const delay = delayOf(body);
  const expected = sessionUtc(tierSession(TIERS[tier], session));
  if (headers["x-session-utc"] !== expected) {
    throw new DamageError(
      `${what} names the session ${String(headers["x-session-utc"] ?? "(none)")}, and its entry of the log means ${expected}`,
    );
  }
  const told = String(headers["x-delayed-sessions"] ?? "(none)");
  if (delay !== null && told !== String(delay)) {
    throw new DamageError(`${what} has two numbers of delayed sessions`);
  }
  const raised = /^\d{1,9}$/.test(told) ? Number(told) - delaySessions : Number.NaN;
  if (!(raised === 0 || (isLive && raised > 0))) {
    throw new DamageError(
      `${what} names ${told} delayed sessions, expected ${delaySessions}${isLive ? " or more" : ""}`,
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
