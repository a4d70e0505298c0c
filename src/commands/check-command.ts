/** `check`: proves an answer of a service, over HTTP only. */
import { Command } from "commander";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { plainText, printJson, printLine } from "../lib/terminal.ts";
import type { Step } from "../check/step.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import {
  rememberOption,
  verifyKeyOption,
  verifyKeysFrom,
  type RememberOption,
  type VerifyKeyOptions,
} from "./signing-options.ts";

const HELP = `
URL is the address of a service, to check its board, or of one answer with data, also with publication=N,
as_of=INSTANT or session=SESSION. The check needs only HTTP. It costs two calls, for the answer and its
sums, and more if something is published meanwhile. Each step proves one link:

  answer     the bytes match the answer's own digest
  sums       they are a file of the tier, by its SHA256SUMS
  root       SHA256SUMS is the one that the entry of the log names
  log        the entries follow each other, to the newest one
  signature  a key of --verify-key signed it
  memory     the log still has the entry that an earlier check wrote to the file of --remember

FILE.zip is a settled month with its proof, which the Python client writes (chipboard_client evidence). It needs
no service: the month stands in the settlement file, and so on, to the entry that a key in the file signed. Compare
the key with one of the publisher's by --verify-key, or its fingerprint with one from elsewhere. A log without
signatures is told, and ends with 0.

The first broken link ends the check with exit code 6. The service computes baskets, and no file contains
one: the check proves the log behind a basket, but not the basket. If the service has a private
certificate, name its file in NODE_EXTRA_CA_CERTS. HTTP_PROXY, HTTPS_PROXY and NO_PROXY apply, except for
loopback.
`;

interface CheckOptions extends JsonOption, RememberOption, VerifyKeyOptions {
  readonly key?: string;
}

export const checkCommand = (): Command =>
  new Command("check")
    .argument(
      "<url>",
      "the address of a service, or of an answer with data; or a file of evidence, FILE.zip",
    )
    .addOption(
      createOption("--key <key>", "API key for requests; sent over https or to this machine only"),
    )
    .addOption(verifyKeyOption("require that one of these public keys has signed the log"))
    .addOption(rememberOption())
    .addOption(jsonOption())
    .addHelpText(
      "after",
      HELP +
        examples(
          "check https://prices.example.com",
          "check https://prices.example.com --verify-key signing.pem.pub --remember prices.log",
          "check https://prices.example.com/api/public/v1/export.csv --key cbk_…",
          "check ddr5-16gb-2026-10.zip --verify-key signing.pem.pub",
        ),
    )
    .action(checkService);

/** A text of a service or file stays one line: it cannot look like a step. */
const printStep = ({ link, isProven, text }: Pick<Step, "isProven" | "text"> & { link: string }) =>
  printLine(plainText(`${isProven ? "proven    " : "not proven"}  ${link.padEnd(9)}  ${text}.`));

async function checkFile(
  path: string,
  verifyKeys: Awaited<ReturnType<typeof verifyKeysFrom>>,
  json: boolean | undefined,
): Promise<void> {
  const { checkEvidence } = await import("../check/evidence.ts");
  const { sentence, record, steps, fingerprint, permission } = await checkEvidence(
    path,
    verifyKeys,
  );
  if (json) {
    printJson({
      file: path,
      sentence,
      record: Object.fromEntries(record),
      steps: steps.map(({ link, isProven, text }) => ({ link, proven: isProven, text })),
      fingerprint,
      permission,
    });
    return;
  }
  printLine(plainText(sentence));
  steps.forEach(printStep);
  printLine(`The file says: ${permission.replaceAll(/\s+/g, " ")}`);
}

async function checkService(url: string, options: CheckOptions): Promise<void> {
  const { key = null, remember = null, json } = options;
  const verifyKeys = await verifyKeysFrom(options);
  if (/^(?!https?:).*\.zip$/i.test(url)) {
    if (key !== null || remember !== null)
      throw new InputError(`${url} is a file: --key and --remember are for a service`);
    return checkFile(url, verifyKeys, json);
  }
  const { check } = await import("../check/check.ts");
  const steps: Step[] = [];
  await check({ url, key, verifyKeys, remember }, (step) => {
    steps.push(step);
    if (!json) printStep(step);
  });
  if (json) {
    printJson({
      url,
      steps: steps.map(({ link, isProven, text }) => ({ link, proven: isProven, text })),
    });
  }
}
