/** Node's HTTP server with the limits of its connections, plain or with TLS. */
import { type ConnectionLimits } from "../../lib/limits.ts";
import { X509Certificate } from "node:crypto";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createSecureContext, Server as TlsServer } from "node:tls";
import { InputError, reasonOf, UnreachableError } from "../../lib/errors.ts";

/** TLS 1.2 with forward secrecy and authenticated encryption (AEAD); TLS 1.3 has nothing else. */
const TLS = {
  minVersion: "TLSv1.2",
  ciphers: "ECDHE+AESGCM:ECDHE+CHACHA20",
} as const;

/** A certificate with its chain, and its private key (PEM). */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** When the certificate ends (epoch milliseconds): the first of its file, not one of its chain. */
export const endOf = ({ cert }: Certificate): number =>
  new X509Certificate(cert).validToDate.getTime();

/** Makes the server. Throws InputError if certificate and key do not fit. */
export function createHttpServer(limits: ConnectionLimits, tls: Certificate | null): Server {
  const settings = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    // The app answers HTTP/1.1 without Host with a problem document.
    requireHostHeader: false,
    // Requests here have no body; skipping the work to read one saves a tenth of a request.
    optimizeEmptyRequests: true,
  };
  const handshakeTimeout = limits.headersMs;
  const server =
    tls === null
      ? createServer(settings)
      : createTlsServer({ ...settings, handshakeTimeout, allowHalfOpen: true });
  if (tls !== null) useCertificate(server, tls);
  // No limit: the checks must see all fields, because a second Host or key may be the last one.
  server.maxHeadersCount = 0;
  // A client that ends its side after the request still gets its answer.
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/** Gives this certificate to new connections. Throws InputError as `renewCertificate` of a proxy does. */
export function useCertificate(server: Server, { cert, key }: Certificate): void {
  if (!(server instanceof TlsServer)) throw new InputError("The proxy serves plain HTTP");
  const settings = { ...TLS, cert, key };
  try {
    // Tried first: setSecureContext has half of the settings when it fails.
    createSecureContext(settings);
  } catch (cause) {
    const message = `--tls-cert and --tls-key cannot be used: ${reasonOf(cause)}`;
    throw new InputError(message, [], { cause });
  }
  server.setSecureContext(settings);
}

/** As many connections as systemd lets wait while no process accepts them. */
const WAITING_MAX = 4_096;

/** Listens on a socket that another process has opened. Throws InputError if it is no TCP socket. */
export async function listenOn(server: Server, socket: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `Cannot listen on the socket that systemd passes: ${cause.message}`;
      reject(new InputError(message, [], { cause }));
    });
    // Node listens once more, and would let 511 wait: beside `fd` it takes the number only as an argument.
    server.listen({ fd: socket }, WAITING_MAX, resolve);
  });
  return addressOf(server);
}

/**
 * Listens and returns the address with the actual port: `http://127.0.0.1:8080`. Messages name
 * `option`, which gave the port. Throws UnreachableError if the port is in use, and InputError if the server
 * cannot listen on the address.
 */
export async function listen(
  server: Server,
  option: "--port" | "--metrics-port" | "--http",
  host: string,
  port: number,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const isInUse = cause.code === "EADDRINUSE";
      const reason = isInUse ? "it is in use" : cause.message;
      const message = `Cannot listen on ${host}:${port} (${option}): ${reason}`;
      reject(new (isInUse ? UnreachableError : InputError)(message, [], { cause }));
    });
    server.listen({ port, host }, resolve);
  });
  return addressOf(server);
}

function addressOf(server: Server): string {
  const { address, family, port: bound } = server.address() as AddressInfo;
  if (bound === undefined) throw new InputError("systemd passes no TCP socket: expected one");
  const scheme = server instanceof TlsServer ? "https" : "http";
  return `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
}
