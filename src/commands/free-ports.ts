/** Looks before a long start whether the ports that it will listen on are free. */
import { createServer } from "node:http";
import { once } from "node:events";
import { errorCode, InputError } from "../lib/errors.ts";
import { listen } from "../proxy/http/server.ts";
import type { ServeOptions } from "./serve-options.ts";

type PortOption = Parameters<typeof listen>[1];

/**
 * The options with ports that are free now. If the metrics port is only the usual one (`isUsual`) and
 * in use, any free one takes its place. Throws InputError if another port cannot be listened on; if it
 * is in use, the error names a free one.
 */
export async function withFreePorts(
  options: ServeOptions,
  isUsual: boolean,
): Promise<ServeOptions> {
  const { host, port, metricsPort } = options;
  const server = await listening("--port", host, port);
  try {
    if (metricsPort !== "off") await end(await listening("--metrics-port", host, metricsPort));
    return options;
  } catch (error) {
    if (isUsual && isInUse(error)) return { ...options, metricsPort: 0 };
    throw error;
  } finally {
    await end(server);
  }
}

async function listening(option: PortOption, host: string, port: number) {
  const server = createServer();
  try {
    await listen(server, option, host, port);
    return server;
  } catch (error) {
    if (!(error instanceof InputError) || !isInUse(error)) throw error;
    const free = await nextFree(option, host, port);
    const details = [`Take another port: npm start -- ${option} ${free}`];
    throw new InputError(error.message, details, { cause: error.cause });
  }
}

/** The next free port above `port`; 0 (any) if there is none. */
async function nextFree(option: PortOption, host: string, port: number): Promise<number> {
  for (let next = port + 1; next < 65_536; next += 1) {
    try {
      const server = createServer();
      await listen(server, option, host, next);
      await end(server);
      return next;
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
  return 0;
}

const isInUse = (error: unknown): boolean =>
  error instanceof InputError && errorCode(error.cause) === "EADDRINUSE";

async function end(server: ReturnType<typeof createServer>): Promise<void> {
  const closed = once(server, "close");
  server.close();
  await closed;
}
