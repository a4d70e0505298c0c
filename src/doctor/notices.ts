/** Tells a person of changes, by POST to NOTICE_URL, and a dead man's switch that somebody looks. */
import { hostname } from "node:os";
import { ChipboardError, InputError, UnreachableError } from "../lib/errors.ts";
import { agentFor, get } from "../lib/http-get.ts";
import { LOOKED_AT_BYTES_MAX } from "../lib/limits.ts";
import { cut } from "../lib/text.ts";
import { CHECKS, orFailure, type Finding } from "./checks.ts";
import type { Memory } from "./memory.ts";

const PATIENCE_MS = 30_000;
/** Discord takes no more. */
const CHARACTERS_MAX = 2_000;

/** Where notices go. `isJson`: as Slack and Discord take them; otherwise plain text. */
export interface NoticeAddress {
  readonly url: string;
  readonly isJson: boolean;
}

/** The findings that a person has not heard of: faults that are new or another one, and those that are over. */
export interface Changes {
  readonly bad: readonly Finding[];
  readonly well: readonly Finding[];
}

/** Compares the findings with those that were told. A check that another fault hides counts as unchanged. */
export function changesOf(told: Memory["told"], findings: readonly Finding[]): Changes {
  const before = ({ check }: Finding) => told[check] ?? 0;
  return {
    bad: findings.filter((each) => each.result === "fault" && before(each) !== each.exitCode),
    well: findings.filter(
      (each) => !["fault", "unknown"].includes(each.result) && before(each) !== 0,
    ),
  };
}

/** The faults that a person knows of once the changes are sent. */
export function toldAfter(told: Memory["told"], { bad, well }: Changes): Memory["told"] {
  const after = { ...told };
  for (const { check, exitCode } of bad) after[check] = exitCode;
  for (const { check } of well) delete after[check];
  return after;
}

/** The text of a notice; null: nothing has changed. */
export function noticeText({ bad, well }: Changes): string | null {
  if (bad.length + well.length === 0) return null;
  const counts = [
    ...(bad.length > 0 ? [`${bad.length} bad`] : []),
    ...(well.length > 0 ? [`${well.length} well again`] : []),
  ];
  return [
    `chipboard on ${hostname()}: ${counts.join(", ")}`,
    ...bad.map(
      ({ check, text, remedy }) => `bad: ${check}: ${text} → ${remedy} (${CHECKS[check].runbook})`,
    ),
    ...well.map(({ check, text }) => `well again: ${check}: ${text}`),
  ].join("\n");
}

/** The text of `--test`. */
export const testText = (): string =>
  `chipboard on ${hostname()}: this is a test of NOTICE_URL, and nothing is wrong`;

/** Sends a notice. The error shows no address, because it is a secret; null: it was taken. */
export const sendNotice = (
  { url, isJson }: NoticeAddress,
  text: string,
): Promise<ChipboardError | null> =>
  isJson
    ? ask("NOTICE_URL", url, {
        method: "POST",
        type: "application/json",
        content: JSON.stringify({ text, content: cut(text, CHARACTERS_MAX) }),
      })
    : ask("NOTICE_URL", url, { method: "POST", type: "text/plain; charset=utf-8", content: text });

/** Asks the address of `--ping`. */
export const ping = (url: string): Promise<ChipboardError | null> => ask("--ping", url);

interface Post {
  readonly method: "POST";
  readonly type: string;
  readonly content: string;
}

async function ask(what: string, url: string, post?: Post): Promise<ChipboardError | null> {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    return new InputError(`${what}: expected an http(s) address`);
  }
  const { origin } = new URL(url);
  const agent = agentFor(url, 1);
  const answer = await orFailure(() =>
    get(url, {
      agent,
      ...(post === undefined ? {} : { method: post.method, content: post.content }),
      headers:
        post === undefined
          ? {}
          : {
              "content-type": post.type,
              "content-length": String(Buffer.byteLength(post.content)),
            },
      maxBytes: LOOKED_AT_BYTES_MAX,
      timeoutMs: PATIENCE_MS,
    }),
  );
  agent.destroy();
  if (answer instanceof ChipboardError) {
    const reason = answer.message.replaceAll(url, origin);
    return new UnreachableError(`${what} does not answer: ${reason}`);
  }
  if (answer.status >= 200 && answer.status < 300) return null;
  return new UnreachableError(`${what} (${origin}) answers ${answer.status}`);
}
