/** `demo`: publishes the demonstration market up to now, creates keys, and serves it. */
import { once } from "node:events";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Command } from "commander";
import { clockFromEnvironment } from "../lib/config.ts";
import { DamageError, UnreachableError, type ChipboardError } from "../lib/errors.ts";
import { printLine, printNotice, startProgress } from "../lib/terminal.ts";
import { sessionKey } from "../market/session.ts";
import type { RunningProxy } from "../hosts/node/listen.ts";
import { examples, withOptions } from "./every-command.ts";
import { nextSignal, serve } from "./serve-command.ts";
import { serveOptions, type ServeOptions } from "./serve-options.ts";
import { storeFromOptions } from "./store-options.ts";

export function demoCommand(): Command {
  return withOptions(new Command("demo"), serveOptions())
    .addHelpText(
      "after",
      examples("demo", "demo --port 8090 --store /tmp/demo --state /tmp/demo-state"),
    )
    .action(async (options: ServeOptions, command: Command) => {
      await requireFree(options);
      // Beside a proxy, whose metrics have the usual port.
      const isUsual = command.getOptionValueSource("metricsPort") === "default";
      await demo(isUsual ? { ...options, metricsPort: 0 } : options);
    });
}

/**
 * Serves as soon as there is a session, and publishes the others meanwhile. A stop before that leaves the
 * sessions that are published.
 */
async function demo(options: ServeOptions): Promise<void> {
  const { DEMO_PLANS } = await import("../demo/notice.ts");
  const { demoKeys } = await import("../demo/demo-keys.ts");
  const { publishDemo } = await import("../demo/publish-demo.ts");
  const { welcome } = await import("../demo/welcome.ts");
  const { reportPath } = await import("../desk/show.ts");
  const { createState } = await import("../state/open.ts");
  const clock = clockFromEnvironment();
  await requireState(options.state);
  const stop = new AbortController();
  const ended = nextSignal().then(() => stop.abort());
  const store = await storeFromOptions(options);
  const progress = startProgress();
  const sessions = publishDemo(store, clock, progress.tell, stop.signal);
  try {
    const first = await sessions.next();
    progress.end();
    const session = sessionKey(first.value);
    const path = await reportPath(store, "head");
    const report = path.startsWith("s3://") ? path : pathToFileURL(resolve(path)).href;
    // Create keys only when the proxy serves: a start that fails must not replace the keys of a running one.
    const whileServing = async ({ url, metricsUrl }: RunningProxy): Promise<void> => {
      const keys = await demoKeys(options.state, clock);
      const toolsUrl = await serveTools(url, options, stop.signal);
      const places = {
        url,
        metrics_url: metricsUrl,
        guide_url: `${url}/guide`,
        tools_url: toolsUrl,
        session,
        report,
      };
      printLine(
        options.json
          ? JSON.stringify({ ...places, keys })
          : welcome({ url, metricsUrl, toolsUrl, session, report, store: options.store }, keys),
      );
      for await (const published of sessions) {
        if (!options.json) printLine(`published ${sessionKey(published)}`);
      }
    };
    await createState(options.state);
    await serve({ plans: DEMO_PLANS, ...options }, whileServing, ended);
  } catch (error) {
    if (stop.signal.aborted && error === stop.signal.reason) return;
    if (!(error instanceof DamageError)) throw error;
    const place = `the folders in ${options.store} (their snapshots are lost)`;
    throw new DamageError(error.message, withWayOn(error, "--store", place));
  } finally {
    progress.end();
    await store.close();
  }
}

/** Ten above the proxy's port, as the samples have it; if that is taken, any. */
const TOOLS_PORT = 10;

/** Serves the tools for agents until the signal, and returns their address. */
async function serveTools(
  url: string,
  { host, port }: ServeOptions,
  signal: AbortSignal,
): Promise<string> {
  const { mcpHttpServer } = await import("../mcp/http.ts");
  const { listen } = await import("../hosts/node/server.ts");
  const tools = () => {
    const server = mcpHttpServer(url, [], printNotice);
    signal.addEventListener("abort", () => {
      server.close();
      server.closeAllConnections();
    });
    return server;
  };
  const wanted = port === 0 || port + TOOLS_PORT > PORT_MAX ? 0 : port + TOOLS_PORT;
  const address = await listen(tools(), "--port", host, wanted).catch(async (error: unknown) => {
    if (!(error instanceof UnreachableError)) throw error;
    return listen(tools(), "--port", host, 0);
  });
  return `${address}/mcp`;
}

const PORT_MAX = 65_535;

/** Listens for a moment: a long start must not end with a port that is in use. Throws as `listen` does. */
async function requireFree({ host, port }: ServeOptions): Promise<void> {
  const { listen } = await import("../hosts/node/server.ts");
  const server = createServer();
  await listen(server, "--port", host, port);
  const closed = once(server, "close");
  server.close();
  await closed;
}

/** Throws UnreachableError if there is a state and it cannot be used. */
async function requireState(state: string): Promise<void> {
  const { withRegistry } = await import("../state/open.ts");
  const { NoStateError } = await import("../ports/state.ts");
  try {
    await withRegistry(state, clockFromEnvironment(), "use", (registry) => registry.accounts());
  } catch (error) {
    if (error instanceof NoStateError) return;
    if (!(error instanceof UnreachableError) || /^rediss?:/i.test(state)) throw error;
    const place = `${state} (its accounts and keys are lost)`;
    throw new UnreachableError(error.message, withWayOn(error, "--state", place));
  }
}

const withWayOn = ({ details }: ChipboardError, option: string, place: string): string[] => [
  ...details,
  `To start again, name another folder with ${option}, or delete ${place}`,
];
