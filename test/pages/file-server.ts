/** A plain server of files, as static hosts are: a folder answers with its index.html, a wrong address with 404.html. */
import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { mediaTypeOf } from "../../src/store/media-types.ts";

export interface FileServer {
  /** `http://127.0.0.1:PORT/prefix`. */
  readonly root: string;
  /** The folder that it serves. */
  folder: string;
  close(): void;
}

/** Serves files below a prefix, `/repo` or empty. Everything else of its host belongs to somebody else: 418. */
export async function startFileServer(prefix: string): Promise<FileServer> {
  const server = createServer(async ({ url = "/" }, answer) => {
    const path = decodeURIComponent(url.replace(/\?.*$/, ""));
    if (!path.startsWith(`${prefix}/`)) return void answer.writeHead(418).end();
    const file = join(served.folder, path.slice(prefix.length));
    const found = await stat(file).catch(() => null);
    if (found?.isDirectory() === true && !path.endsWith("/")) {
      return void answer.writeHead(301, { location: `${path}/` }).end();
    }
    const name = found?.isDirectory() === true ? join(file, "index.html") : file;
    const bytes = await readFile(name).catch(() => null);
    const type = (of: string) => ({ "content-type": mediaTypeOf(of) });
    if (bytes !== null) return void answer.writeHead(200, type(name)).end(bytes);
    answer.writeHead(404, type("404.html")).end(await readFile(join(served.folder, "404.html")));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const served: FileServer = {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    folder: "",
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return served;
}
