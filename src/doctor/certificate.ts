/** The certificate that callers meet: whether it fits the name in the public address, and when it ends. */
import { CONNECTION_LIMITS } from "../lib/limits.ts";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { isIP } from "node:net";
import { checkServerIdentity, connect, getCACertificates, type TLSSocket } from "node:tls";
import { DAY_MS, instantText } from "../lib/clock.ts";
import { ChipboardError, errorCode, InputError } from "../lib/errors.ts";
import { createHttpServer, endOf, type Certificate } from "../hosts/node/server.ts";
import { ALERT_LIMITS, beyondLimit, faultOf, notWatched, ok, type Finding } from "./checks.ts";

const PATIENCE_MS = 5_000;
/** The end and the name of a certificate have findings of their own. */
const OF_OTHER_ROWS = ["", "null", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"];
const RENEW = "renew it, then systemctl reload chipboard.service";

/** `tls` is the proxy's own; null: plain HTTP. A public address that does not answer is a fault of another check. */
export async function checkCertificate(
  tls: Certificate | null | ChipboardError,
  publicUrl: string | null,
  nowMs: number,
): Promise<Finding> {
  if (tls instanceof ChipboardError) return faultOf("certificate", tls, RENEW);
  if (tls !== null) {
    try {
      createHttpServer(CONNECTION_LIMITS, tls);
    } catch (error) {
      if (error instanceof ChipboardError) return faultOf("certificate", error, RENEW);
      throw error;
    }
  }
  const url = publicUrl === null ? null : new URL(publicUrl);
  const met = url?.protocol === "https:" ? await meet(url, tls) : null;
  const trouble = met === null ? misfitOf(tls, url) : met.trouble;
  if (trouble !== null) {
    const error = new InputError(`${url?.origin}: ${trouble}`);
    return faultOf(
      "certificate",
      error,
      "get a certificate for this name, or correct --public-url",
    );
  }
  const ends = [...(tls === null ? [] : [endOf(tls)]), ...(met === null ? [] : [met.endMs])];
  if (ends.length === 0) return notWatched("certificate", "--tls-cert, or an https --public-url");
  const endMs = Math.min(...ends);
  const days = Math.floor((endMs - nowMs) / DAY_MS);
  const text = `${met === null ? "" : `fits ${url?.hostname}; `}ends ${instantText(endMs)}, in ${days} days`;
  const isEnding = endMs - nowMs < ALERT_LIMITS.certificateDays * DAY_MS;
  return isEnding ? beyondLimit("certificate", text, RENEW) : ok("certificate", text);
}

/** Why the proxy's own certificate does not fit the address; null: it does, or there is none. */
function misfitOf(tls: Certificate | null, url: URL | null): string | null {
  if (tls === null || url?.protocol !== "https:") return null;
  const host = hostOf(url);
  const own = new X509Certificate(tls.cert);
  const fits = isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host);
  return fits === undefined ? `the certificate is for ${own.subjectAltName ?? own.subject}` : null;
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

/** The certificate at an address, and why callers refuse it; null: no certificate comes. The own one is trusted. */
async function meet(
  url: URL,
  own: Certificate | null,
): Promise<{ endMs: number; trouble: string | null } | null> {
  const host = hostOf(url);
  const socket: TLSSocket = connect({
    host,
    port: url.port === "" ? 443 : Number(url.port),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: false,
    ...(own !== null && {
      ca: [...getCACertificates("default"), own.cert.toString("utf8")],
      // The own one may be signed by an authority that is not known here.
      allowPartialTrustChain: true,
    }),
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(PATIENCE_MS) });
    const peer = socket.getPeerCertificate();
    const misfit = checkServerIdentity(host, peer);
    const { authorizationError: error } = socket;
    const code = errorCode(error) || String(error ?? "");
    return {
      endMs: Date.parse(peer.valid_to),
      trouble: misfit?.message ?? (OF_OTHER_ROWS.includes(code) ? null : code),
    };
  } catch {
    return null;
  } finally {
    socket.destroy();
  }
}
