/**
 * Proves an answer of a service by what everybody can get from it: the answer is a file of SHA256SUMS,
 * whose digest is a root in an entry of the log, whose entries follow each other to the newest one, which
 * is signed, and which come after the entry that an earlier check has seen.
 */
import { setTimeout as delay } from "node:timers/promises";
import { DamageError, InputError, UnreachableError } from "../lib/errors.ts";
import { isPublication, type Publication, type StoredEntry } from "../snapshot/log/entry.ts";
import {
  readRemembered,
  requireSeen,
  writeRemembered,
  type SeenEntry,
} from "../snapshot/log/seen.ts";
import { requireSigned } from "../snapshot/log/sign.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { snapshotText } from "../store/paths.ts";
import { fetchEntry, proveLog, type ProvenLog } from "./log.ts";
import { refusalOf, saysDamaged, Service, unexpected, type Answer } from "./service.ts";
import { answerStep, fileSteps } from "./file.ts";
import type { Step } from "./step.ts";
import { LIVE, readTarget, type Target } from "./target.ts";

const ANSWER_BYTES_MAX = 100_000_000;
/**
 * So many entries before the one remembered are proven again, so that a change of them is noticed, too.
 * What the memory vouches for cannot mislead; but a log that was changed should not go unseen.
 */
const PROVEN_AGAIN = 1_000;
const DAMAGED: Step = {
  link: "service",
  isProven: false,
  text: "The service says of its store (/readyz) that something in it is damaged or not signed, which it does not serve",
};
const TRIES = 3;
const RETRY_MS = 3_000;

/** What to check, and with what. */
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
  const service = new Service(target.base, request.key);
  try {
    for (let tries = 1; ; tries += 1) {
      const steps: Step[] = [];
      try {
        if (await checkOnce(service, target, request, steps, tries === TRIES)) {
          return steps.forEach(say);
        }
      } catch (error) {
        steps.forEach(say);
        throw error;
      }
      await delay(retryMs);
    }
  } finally {
    service.close();
  }
}

/** Adds to `steps` what is proven. False: something was published meanwhile. */
async function checkOnce(
  service: Service,
  target: Target,
  { verifyKeys, remember }: CheckRequest,
  steps: Step[],
  isLastTry: boolean,
): Promise<boolean> {
  const remembered = remember === null ? null : await readRemembered(remember);
  const answer = await fetchAnswer(service, target);
  const { stored, publication } = await entryOf(service, answer);
  const { number } = publication;
  const { vintage } = target;
  if ("number" in vintage && vintage.number !== number) {
    throw new DamageError(`${answer.what} answers with entry ${number}, which was not asked for`);
  }
  steps.push(answerStep(answer, publication));
  const hasRoots = Object.values(publication.roots).some((root) => root !== null);
  if (target.file !== null && hasRoots) {
    const isLive = vintage === LIVE;
    const proven = await fileSteps(service, target.file, answer, publication, isLive);
    if (proven === null) {
      if (isLastTry) throw noLongerHead(answer, number);
      return false;
    }
    steps.push(...proven);
  } else {
    const why =
      target.file === null
        ? "a basket is computed when it is asked for, and is in no file"
        : `entry ${number} of the log has no roots, because its snapshot has no SHA256SUMS`;
    steps.push({ link: "sums", isProven: false, text: `The answer is not provable: ${why}` });
  }
  const known = Math.min(remembered?.number ?? 1, number);
  const { asOfMs } = "asOfMs" in vintage ? vintage : LIVE;
  const first = Math.max(1, known - PROVEN_AGAIN);
  const log = await proveLog(service, stored, first, remembered?.number ?? 0, asOfMs);
  if ("asOfMs" in vintage && log.head !== number) {
    if (!isLastTry) return false;
    const when = vintage === LIVE ? "" : " at that instant";
    const head = log.head === 0 ? "an earlier one, or none" : `entry ${log.head}`;
    throw new DamageError(
      `${answer.what} answers with entry ${number}, and the head${when} is ${head}`,
    );
  }
  steps.push(logStep(log));
  const vouched = signatureStep(log, number, verifyKeys);
  steps.push(vouched.step);
  steps.push(memoryStep(log, remembered, remember));
  if (remember !== null) await writeRemembered(remember, vouched.seen);
  if (await saysDamaged(service)) steps.push(DAMAGED);
  return true;
}

async function fetchAnswer(service: Service, { path }: Target): Promise<Answer> {
  const answer = await service.get(path, ANSWER_BYTES_MAX);
  if (answer.status === 200) return answer;
  if (answer.status === 308 && answer.headers.location !== undefined) {
    throw new InputError(`${answer.what}: the present address is ${answer.headers.location}`);
  }
  const error = unexpected(answer, "an answer with data");
  const refusal = refusalOf(answer);
  if (refusal === null || error instanceof UnreachableError) throw error;
  throw new InputError(`${answer.what} answers ${refusal.text}`);
}

/** The entry of the log that the answer names. */
async function entryOf(
  service: Service,
  { what, headers }: Answer,
): Promise<{ stored: StoredEntry; publication: Publication }> {
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
  const text = snapshotText(entry);
  if (headers["x-snapshot"] === text) return { stored, publication: entry };
  throw new DamageError(
    `${what} names the snapshot ${String(headers["x-snapshot"] ?? "(none)")}, and entry ${named} of the log ${text}`,
  );
}

const noLongerHead = ({ what }: Answer, number: number): DamageError =>
  new DamageError(
    `${what} answers with entry ${number}, and SHA256SUMS are refused as if another entry were the head`,
  );

function logStep({ first, newest }: ProvenLog): Step {
  const text = `Entries ${first} to ${newest.entry.number} of the log follow each other`;
  return { link: "log", isProven: true, text };
}

/** The newest entry that is signed vouches for those before it. Gives the entry to remember, too. */
function signatureStep(
  { newest, signed }: ProvenLog,
  number: number,
  keys: readonly VerifyKey[] | null,
): { step: Step; seen: SeenEntry } {
  const last = newest.entry.number;
  if (keys === null) {
    const text = "Signatures are not checked without --verify-key";
    const seen = { number: last, sha256: newest.sha256 };
    return { step: { link: "signature", isProven: false, text }, seen };
  }
  if (signed === null) {
    const which =
      number === last
        ? `Entry ${number} of the log is unsigned`
        : `No entry of the log from ${number} to ${last} is signed`;
    throw new DamageError(
      `${which}: expected a signature by ${keys.map(({ fingerprint }) => fingerprint).join(" or ")}`,
    );
  }
  const { fingerprint } = requireSigned(signed, keys);
  const seen = { number: signed.entry.number, sha256: signed.sha256 };
  const after = seen.number === last ? "" : `; entries up to ${last} are unsigned`;
  const text = `Entry ${seen.number} of the log is signed by ${fingerprint}${after}`;
  return { step: { link: "signature", isProven: true, text }, seen };
}

function memoryStep(log: ProvenLog, remembered: SeenEntry | null, path: string | null): Step {
  if (remembered === null) {
    const text =
      path === null
        ? "No earlier check is remembered without --remember"
        : `${path} remembers the log from now on`;
    return { link: "memory", isProven: false, text };
  }
  requireSeen(remembered, log.newest.entry.number, log.seenSha256);
  const text = `Entry ${remembered.number}, seen before, is in the log`;
  return { link: "memory", isProven: true, text };
}
