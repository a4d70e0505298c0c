import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** Writes a self-signed certificate for 127.0.0.1, which ends in `days`, and its key (PEM) into `folder`. */
export async function certificate(
  folder: string,
  days = 36_500,
): Promise<{ cert: string; key: string }> {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const pair = ["-newkey", "rsa:2048", "-nodes"];
  const files = ["-keyout", key, "-out", cert, "-days", String(days)];
  await promisify(execFile)("openssl", ["req", "-x509", ...pair, ...files, ...subject]);
  return { cert, key };
}
