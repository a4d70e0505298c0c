/** Proves that an answer is a file of its tier, by SHA256SUMS and the root in the entry of the log. */
import { DamageError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { sessionUtc } from "../market/session.ts";
import { TIER_NAMES, TIERS, tierSession, type TierName } from "../market/tier.ts";
import { SUMS_ROUTE } from "../proxy/routes.ts";
import { delayOf, withDelay } from "../render/envelope.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import type { Publication } from "../snapshot/publication-log.ts";
import { parseSums } from "../snapshot/sums.ts";
import { refusalOf, unexpected, type Answer, type Service } from "./service.ts";
import type { Step } from "./step.ts";

const SUMS_BYTES_MAX = 20_000_000;

/** The answer has the digest that comes with it. */
export function answerStep({ what, headers, body }: Answer, { number }: Publication): Step {
  const sha256 = sha256Hex(body);
  const digest = `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`;
  if (headers["unencoded-digest"] !== digest) {
    throw new DamageError(
      `${what}: the answer has the SHA-256 ${sha256}, which is not that of its unencoded-digest`,
    );
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
): Promise<Step[] | null> {
  const { number, roots } = publication;
  const sums = await service.get(`${SUMS_ROUTE.path}?publication=${number}`, SUMS_BYTES_MAX);
  if (sums.status === 401 && refusalOf(sums)?.code === "key_required") return null;
  if (sums.status !== 200) throw unexpected(sums, "the SHA256SUMS of the tier");
  const root = sha256Hex(sums.body);
  const tier = TIER_NAMES.find((name) => roots?.[name] === root);
  if (tier === undefined) {
    throw new DamageError(
      `SHA256SUMS (${sums.what}) has the SHA-256 ${root}, which is no root in entry ${number} of the log`,
    );
  }
  const sha256 = parseSums(sums.body, `SHA256SUMS (${sums.what})`).get(file);
  const raised = requireFile(answer, file, sha256, tier, publication);
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
 * Throws DamageError unless the answer is the file with this SHA-256, as it was published or with a raised
 * delay. Returns what to say of the delay.
 */
function requireFile(
  { what, headers, body }: Answer,
  file: string,
  sha256: string | undefined,
  tier: TierName,
  { session }: Publication,
): string {
  const { delaySessions } = TIERS[tier];
  const delay = delayOf(body);
  const expected = sessionUtc(tierSession(TIERS[tier], session));
  if (headers["x-session-utc"] !== expected) {
    throw new DamageError(
      `${what} names the session ${String(headers["x-session-utc"])}, and its entry of the log means ${expected}`,
    );
  }
  if (delay !== null && headers["x-delayed-sessions"] !== String(delay)) {
    throw new DamageError(`${what} has two numbers of delayed sessions`);
  }
  if (sha256Hex(body) === sha256) return "";
  const isRaised = delay !== null && delay > delaySessions;
  if (isRaised && sha256Hex(withDelay(body, delaySessions)) === sha256) {
    return `, with its delayed_sessions put back from ${delay} to ${delaySessions}`;
  }
  throw new DamageError(
    `${what} has the SHA-256 ${sha256Hex(body)}, and SHA256SUMS of the tier ${tier} says ` +
      `${sha256 ?? "nothing"} of ${file}`,
  );
}
