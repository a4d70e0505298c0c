import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { InputError } from "../lib/errors.ts";

/**
 * Listens and returns the address with the actual port: `http://127.0.0.1:8080`. Messages name
 * `option`, which gave the port. Throws InputError if the server cannot listen on the address.
 */
export async function listen(
  server: Server,
  option: "--port" | "--metrics-port",
  scheme: string,
  host: string,
  port: number,
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use" : cause.message;
      const message = `Cannot listen on ${host}:${port} (${option}): ${reason}`;
      reject(new InputError(message, [], { cause }));
    });
    server.listen({ port, host }, resolve);
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  return `${scheme}://${family === "IPv6" ? `[${address}]` : address}:${bound}`;
}
