/** `mcp`: serves tools for agents over the service's public API. */
import { Command } from "commander";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { requireKeyAddress } from "../lib/key-address.ts";
import { printLine, printNotice } from "../lib/terminal.ts";
import { examples } from "./every-command.ts";
import { parsedBy } from "./option-values.ts";
import { hops, host, port, publicUrl } from "./serve-options.ts";

interface McpOptions {
  readonly url: string;
  readonly key?: string;
  readonly http?: number;
  readonly host: string;
  readonly allowHost: readonly string[];
  readonly trustProxy: number;
}

const HELP = `
Without --http it uses standard input and output: an agent on your own machine starts it. Set the key in
the environment, as CHIPBOARD_KEY. With --http it serves other callers at POST /mcp. It sends each caller's
own key to the service, and the caller's address as X-Forwarded-For. Start the service with --trust-proxy,
so that it reads this address. One caller has at most 4 requests at once, all callers together have 16.
`;

export function mcpCommand(): Command {
  return new Command("mcp")
    .addOption(
      createOption("--url <url>", "the service, with its prefix", publicUrl).makeOptionMandatory(),
    )
    .addOption(
      createOption(
        "--key <key>",
        "API key for requests, on standard input and output; sent over https or to this machine only",
      ),
    )
    .addOption(
      createOption("--http <port>", "serve over HTTP at this port; 0: any free port", port),
    )
    .addOption(createOption("--host <address>", "address to listen on", host).default("127.0.0.1"))
    .addOption(
      createOption(
        "--allow-host <names>",
        "host names that requests may give in Host and Origin, separated by commas",
        hostNames,
      ).default([], "this machine's"),
    )
    .addOption(
      createOption(
        "--trust-proxy <hops>",
        "number of your own proxies in front of --http; their X-Forwarded-For is trusted",
        hops,
      ).default(0),
    )
    .addHelpText(
      "after",
      HELP +
        examples(
          "mcp --url https://prices.example",
          "mcp --url http://127.0.0.1:8080 --http 8090 --allow-host prices.example",
        ),
    )
    .action(run);
}

const hostNames = parsedBy((text) => {
  const names = text.split(",");
  return names.every((name) => /^[a-z0-9.-]+$/i.test(name)) ? names : null;
}, "expected host names without scheme and port, such as prices.example,www.prices.example");

async function run(options: McpOptions): Promise<void> {
  const { url, key, http, host: address, allowHost, trustProxy } = options;
  // No header field can hold it.
  if (/[\r\n]/.test(key?.trim() ?? "")) throw new InputError("--key: expected one line");
  if (http === undefined) {
    if (key !== undefined) requireKeyAddress(url);
    const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
    const { apiAt } = await import("../mcp/api.ts");
    const { mcpServer } = await import("../mcp/tools.ts");
    const ask = apiAt(url, key === undefined ? {} : { authorization: `Bearer ${key}` });
    serveStdio(() => mcpServer(ask), { onerror: ({ message }) => printNotice(message) });
    return new Promise((resolve) => void process.stdin.once("close", resolve));
  }
  if (key !== undefined) throw new InputError("--key and --http: callers over HTTP send their own");
  const { mcpHttpServer } = await import("../mcp/http.ts");
  const { listen } = await import("../hosts/node/server.ts");
  const { nextSignal } = await import("./serve-command.ts");
  const server = mcpHttpServer(url, allowHost, printNotice, trustProxy);
  printLine(`listening on ${await listen(server, "--http", address, http)}/mcp`);
  await nextSignal();
  server.close();
  server.closeAllConnections();
}
