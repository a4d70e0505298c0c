/** The errors of an S3 store, in words for operators. */
import { ChipboardError, errorCode, UnfitError, UnreachableError } from "../lib/errors.ts";
import { shownLocation } from "../lib/secrets.ts";

/** The operation that failed, as in the message. */
export type S3Verb = "read" | "write" | "list" | "remove";

export interface S3Place {
  readonly location: string;
  /** What named the location on the command line. */
  readonly option: string;
  /** The value of --s3-endpoint; undefined: Amazon's. */
  readonly endpoint: string | undefined;
}

/** Error codes of S3 that a person can act on (Amazon S3 API reference, "Error responses"). */
const ANSWERS: Readonly<Record<string, string>> = {
  NoSuchBucket: "there is no such bucket; check {option}",
  InvalidBucketName: "this is not a valid bucket name; check {option}",
  InvalidAccessKeyId: "the server does not know the access key; check AWS_ACCESS_KEY_ID",
  SignatureDoesNotMatch: "the secret key is wrong; check AWS_SECRET_ACCESS_KEY",
  InvalidToken: "the session token is not valid; check AWS_SESSION_TOKEN",
  ExpiredToken: "the session token has expired; renew AWS_SESSION_TOKEN",
  RequestTimeTooSkewed:
    "the clocks of this machine and of the server differ too much; set the clock",
  AccessDenied:
    "access denied; check the permissions of AWS_ACCESS_KEY_ID and the policy of the bucket",
  PermanentRedirect: "the bucket is in another region; check --s3-region",
  AuthorizationHeaderMalformed: "the bucket is in another region; check --s3-region",
  IllegalLocationConstraintException: "the bucket is in another region; check --s3-region",
};

const BROKEN = ["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"];

/**
 * Whether the connection broke, so that a repeat may help. A server that does not answer in time was asked
 * several times already, by the SDK.
 */
export function isBrokenConnection(error: unknown): boolean {
  const { code, message } = parts(error);
  return BROKEN.includes(code) || message === "aborted";
}

/**
 * Turns an error of the SDK into an UnreachableError with one line: store, key, cause and the setting
 * to check. What the server refuses is an UnfitError. Returns a ChipboardError unchanged.
 */
export function s3Error(place: S3Place, verb: S3Verb, key: string, error: unknown): unknown {
  if (error instanceof ChipboardError) return error;
  const what = key === "" ? "it" : JSON.stringify(key);
  const Failure = isRefusal(error) ? UnfitError : UnreachableError;
  return new Failure(
    `${place.option} ${JSON.stringify(place.location)}: cannot ${verb} ${what}: ${cause(place, error)}`,
    [],
    { cause: error },
  );
}

/** Whether the server refuses for good. A server that is too busy or too slow may still do it. */
function isRefusal(error: unknown): boolean {
  const { status, message } = parts(error);
  const isAnswer = status !== null && status >= 400 && status < 500;
  return message === "Region is missing" || (isAnswer && ![408, 409, 429].includes(status));
}

function cause(place: S3Place, error: unknown): string {
  const { name, code, message, status } = parts(error);
  const answer = ANSWERS[name];
  if (answer !== undefined) return answer.replace("{option}", place.option);
  const where =
    place.endpoint === undefined ? "the server" : JSON.stringify(shownLocation(place.endpoint));
  const setting = place.endpoint === undefined ? "--s3-region" : "--s3-endpoint";
  if (name === "CredentialsProviderError" || name === "CredentialsError") {
    return "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  }
  if (message === "Region is missing") return "no region was found; set --s3-region or AWS_REGION";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `the name of ${where} cannot be resolved (${code}); check ${setting}`;
  }
  if (code === "ECONNREFUSED") return `${where} refuses the connection; check ${setting}`;
  if (name === "TimeoutError" && !BROKEN.slice(0, 2).includes(code)) {
    return `${where} does not answer in time; check ${setting}`;
  }
  if (code !== "") return `the connection to ${where} failed (${code}); check ${setting}`;
  if (status === 403) return ANSWERS["AccessDenied"] as string;
  if (status !== null && status >= 500)
    return `${where} answers ${status} ${name}; try again later`;
  if (status !== null) return `${where} answers ${status} ${name}; check ${setting}`;
  return `${oneLine(message)}; check ${setting}`;
}

/** The facts of an error of the SDK: the operating system's `code`, and the `status` of the server's answer. */
export function parts(error: unknown) {
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  const { $metadata } = Object(error) as { $metadata?: { httpStatusCode?: number } };
  return { name, code: errorCode(error), message, status: $metadata?.httpStatusCode ?? null };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
