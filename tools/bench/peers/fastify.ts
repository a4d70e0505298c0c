/** fastify with its own plugins for bearer keys and for limits, counted in memory. */
import bearerAuth from "@fastify/bearer-auth";
import rateLimit from "@fastify/rate-limit";
import fastify from "fastify";
import { readRecipe } from "../recipe.ts";

const { path, key, headers, body } = readRecipe(process.argv[2] as string);
// The plugin sets the remaining calls itself.
const fields = Object.fromEntries(headers.filter(([name]) => name !== "x-ratelimit-remaining"));

const app = fastify({ keepAliveTimeout: 65_000 });
await app.register(bearerAuth, { keys: new Set([key]) });
await app.register(rateLimit, {
  global: true,
  max: 2_147_483_647,
  timeWindow: 30 * 24 * 3_600_000,
  keyGenerator: (request) => request.headers.authorization as string,
  addHeadersOnExceeding: { "x-ratelimit-limit": false, "x-ratelimit-reset": false },
});
app.get(path, (_request, reply) => reply.headers(fields).send(body));
console.log(`listening on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);
process.on("SIGTERM", () => process.exit());
