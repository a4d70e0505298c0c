/**
 * Proves an answer of a service, link by link, from its public addresses. The answer is a file of
 * SHA256SUMS. The digest of SHA256SUMS is a root in an entry of the log. The entries follow each other to
 * the newest one, which is signed. An earlier check has seen an entry before it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { InputError } from "../lib/errors.ts";
import { requireKeyAddress } from "../lib/key-address.ts";
import { counted } from "../lib/text.ts";
import { readRemembered, requireSeen, writeRemembered } from "../snapshot/log/seen.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { wasThere, type VintageQuery } from "../core/find/vintage.ts";
import { answerOf, fileSteps } from "./file-proof.ts";
import { proveLog, signatureStep } from "./log-proof.ts";
import { UntrustedService } from "./untrusted-service.ts";
import { HeadChangedError, proven, unproven, type Step } from "./step.ts";
import { LIVE, readTarget, type Target } from "./target.ts";

/**
 * So many entries before the remembered one are proven again, so that a change of them is also noticed.
 * What the memory vouches for cannot mislead; but a log that was changed should not go unseen.
 */
const PROVEN_AGAIN = 1_000;
const TRIES = 3;
const RETRY_MS = 3_000;

export interface CheckRequest {
  readonly url: string;
  readonly key: string | null;
  /** One of these must have signed the log; null: signatures are not checked. */
  readonly verifyKeys: readonly VerifyKey[] | null;
  /** The file that remembers the log from check to check; null: none. */
  readonly remember: string | null;
}

/**
 * Proves link after link; `say` gets each. Throws DamageError, which names the link, if one is broken;
 * InputError if the request cannot be answered; UnreachableError if the service does not answer.
 */
export async function check(
  request: CheckRequest,
  say: (step: Step) => void,
  retryMs = RETRY_MS,
): Promise<void> {
  const target = readTarget(request.url);
  if (request.key !== null && !/^[\x21-\x7e]+$/.test(request.key)) {
    throw new InputError("--key: expected a key without spaces and characters beyond ASCII");
  }
  if (request.key !== null) requireKeyAddress(target.base);
  const service = new UntrustedService(target.base, request.key);
  try {
    for (let tries = 1; ; tries += 1) {
      const steps: Step[] = [];
      try {
        await prove(service, target, request, steps);
        return steps.forEach(say);
      } catch (error) {
        if (!(error instanceof HeadChangedError) || tries === TRIES) {
          steps.forEach(say);
          throw error;
        }
      }
      await delay(retryMs);
    }
  } finally {
    service.close();
  }
}

/**
 * Adds each proven link to `steps`. Throws HeadChangedError if something may have been published meanwhile.
 */
async function prove(
  service: UntrustedService,
  target: Target,
  { verifyKeys, remember }: CheckRequest,
  steps: Step[],
): Promise<void> {
  const { vintage } = target;
  const remembered = remember === null ? null : await readRemembered(remember);
  const answer = await answerOf(service, target);
  const { number } = answer.publication;
  const bytesText = `${counted(answer.body.length, "byte")} of entry ${number}, as its unencoded-digest says`;
  steps.push(proven("answer", `${answer.what}: ${bytesText}`));
  steps.push(...(await fileSteps(service, target, answer)));
  const first = Math.max(1, Math.min(remembered?.number ?? 1, number) - PROVEN_AGAIN);
  const { isMeant, name } = meantBy(vintage, answer.publication);
  const log = await proveLog(service, answer.stored, first, remembered?.number ?? 0, isMeant);
  const newest = log.newest.entry.number;
  if (log.meant !== number) {
    const meant = log.meant === 0 ? "an earlier one, or none" : `entry ${log.meant}`;
    throw new HeadChangedError(
      `${answer.what} answers with entry ${number}, and the ${name} is ${meant}`,
    );
  }
  steps.push(proven("log", `Entries ${first} to ${newest} of the log follow each other`));
  const { step, seen } = signatureStep(log, verifyKeys);
  steps.push(step);
  if (remembered !== null) {
    requireSeen(remembered, newest, log.seenSha256);
    steps.push(proven("memory", `Entry ${remembered.number}, seen before, is in the log`));
  } else if (remember !== null) {
    steps.push(unproven("memory", `${remember} remembers the log from now on`));
  } else {
    steps.push(unproven("memory", "Earlier checks are not compared without --remember"));
  }
  if (remember !== null) await writeRemembered(remember, seen);
}

/** Which entries a request may mean, of which the newest is the one, and its name. */
function meantBy(
  vintage: VintageQuery,
  { number, session }: Publication,
): { readonly isMeant: (entry: Publication) => boolean; readonly name: string } {
  if (vintage.kind === "publication") {
    return { isMeant: (entry) => entry.number === number, name: "entry asked for" };
  }
  if (vintage.kind === "session") {
    return { isMeant: (entry) => entry.session === session, name: "newest one of its session" };
  }
  const name = vintage === LIVE ? "head" : "head at that instant";
  return { isMeant: (entry) => wasThere(entry, vintage.asOfMs), name };
}
