/** A server of an operator's own, with the service below a prefix of it. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface PrefixFront {
  /** `http://127.0.0.1:PORT/prefix`. */
  readonly root: string;
  /** The address of the proxy. */
  target: string;
  close(): void;
}

/** Starts one. It takes the prefix off; everything else of its host belongs to somebody else: 418. */
export async function startPrefixFront(prefix: string): Promise<PrefixFront> {
  const server = createServer((asked, answer) => {
    const { url = "", method, headers } = asked;
    if (!url.startsWith(`${prefix}/`)) return void answer.writeHead(418).end();
    const { hostname, port } = new URL(front.target);
    const path = url.slice(prefix.length);
    const onward = request({ hostname, port, path, method, headers }, (answered) => {
      answer.writeHead(answered.statusCode as number, answered.headers);
      answered.pipe(answer);
    });
    asked.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const front: PrefixFront = {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    target: "",
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return front;
}
