/**
 * The upper limit: plain node:http, which sends the same header fields and bytes to
 * every caller, and does nothing else.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readRecipe } from "../recipe.ts";

const { status, headers, body } = readRecipe(process.argv[2] as string);
const flat = headers.flat();
const payload = body.length === 0 ? undefined : body;

const server = createServer({ keepAliveTimeout: 65_000 }, (_request, response) => {
  response.writeHead(status, flat);
  response.end(payload);
});
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.on("SIGTERM", () => process.exit());
