/** `keys signing`: creates the pair of keys that signs and verifies the log. */
import { open, unlink } from "node:fs/promises";
import { Command } from "commander";
import { createOption } from "../lib/config.ts";
import { ConflictError, errorCode } from "../lib/errors.ts";
import { printFacts, printJson, printLine } from "../lib/terminal.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import { notWritable } from "./option-files.ts";

export function signingCommand(): Command {
  return new Command("signing")
    .description("create a pair of keys that signs and verifies the log (Ed25519, PEM)")
    .addOption(
      createOption(
        "--out <file>",
        "file for the private key; the public key goes to FILE.pub",
      ).default("./signing.pem"),
    )
    .addOption(jsonOption())
    .addHelpText("after", examples("keys signing", "keys signing --out /etc/chipboard/signing.pem"))
    .action(makeKeys);
}

async function makeKeys({ out, json }: JsonOption & { out: string }): Promise<void> {
  const { newKeyPair } = await import("../snapshot/signing-key.ts");
  const { privatePem, publicPem, fingerprint } = newKeyPair();
  const publicPath = `${out}.pub`;
  await createFile(out, privatePem, 0o600);
  try {
    await createFile(publicPath, publicPem, 0o644);
  } catch (error) {
    await unlink(out);
    throw error;
  }
  if (json) {
    return printJson({
      algorithm: "ed25519",
      private_key: out,
      public_key: publicPath,
      public_key_pem: publicPem,
      fingerprint,
    });
  }
  printFacts({
    "Private key": `${out}, for the publisher only; keep a copy, there is no other`,
    "Public key": `${publicPath}, for everybody who verifies`,
    Fingerprint: fingerprint,
  });
  printLine(`Next         chipboard publish --sign-key ${out} --quotes quotes.csv`);
  printLine(`             chipboard snapshots verify --verify-key ${publicPath}`);
  printLine(`             chipboard serve --verify-key ${publicPath}`);
}

/** Creates the file; on return it is durable. Throws ConflictError if the path exists. */
async function createFile(path: string, text: string, mode: number): Promise<void> {
  try {
    const file = await open(path, "wx", mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } catch (error) {
      await unlink(path);
      throw error;
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") {
      throw new ConflictError(`${path} exists, and keys are never overwritten: name another file`);
    }
    throw notWritable("--out", path, cause);
  }
}
