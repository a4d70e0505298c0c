/** Agents that call tools: the SDK's client of today, and its client 1.x, which most programs still have. */

type Headers = Readonly<Record<string, string>>;

/** A connected agent. */
export interface Agent {
  readonly tools: readonly Tool[];
  /** The text of a tool's answer, the same as a structure, and whether it is an error. */
  call(name: string, args: object): Promise<Answer>;
  close(): Promise<void>;
}

interface Tool {
  readonly name: string;
  /** JSON Schema. */
  readonly outputSchema?: object;
}

interface Answer {
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
}

interface Client {
  connect(transport: never): Promise<void>;
  listTools(): Promise<{ tools: Tool[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

const NAME = { name: "test", version: "1" };

/** The client of today at this address. */
export async function agentOfToday(url: string, headers: Headers): Promise<Agent> {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(NAME, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return connected(client as Client, transport);
}

/** The client of 1.x at this address. */
export async function agentOf1x(url: string, headers: Headers): Promise<Agent> {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } =
    await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return connected(new Client(NAME) as Client, transport);
}

/** The client of today with a program of its own, on standard input and output. */
export async function agentOver(
  command: string,
  args: string[],
  env: Record<string, string>,
): Promise<Agent> {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(NAME, { versionNegotiation: { mode: "auto" } });
  return connected(client as Client, new StdioClientTransport({ command, args, env }));
}

async function connected(client: Client, transport: unknown): Promise<Agent> {
  await client.connect(transport as never);
  const { tools } = await client.listTools();
  return {
    tools,
    call: async (name, args) => {
      const result = (await client.callTool({ name, arguments: { ...args } })) as {
        isError?: boolean;
        content: { text: string }[];
        structuredContent?: unknown;
      };
      return {
        isError: result.isError === true,
        text: result.content.map(({ text }) => text).join(""),
        structured: result.structuredContent,
      };
    },
    close: () => client.close(),
  };
}
