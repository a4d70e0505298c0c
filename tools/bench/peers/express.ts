/** express with a bearer check, express-rate-limit in memory, and the file with its .gz beside it. */
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import express from "express";
import { rateLimit } from "express-rate-limit";
import expressStaticGzip from "express-static-gzip";
import { BODY_FILE, readRecipe } from "../recipe.ts";

const folder = process.argv[2] as string;
const { path, key, headers } = readRecipe(folder);
/** Fields that the static handler or the limiter sets itself. */
const OTHERS = new Set(["content-length", "content-encoding", "x-ratelimit-remaining"]);
const fields = headers.filter(([name]) => !OTHERS.has(name));
const authorization = `Bearer ${key}`;

const app = express();
app.disable("x-powered-by");
app.use((request, response, next) => {
  if (request.headers.authorization === authorization) next();
  else response.status(401).end();
});
app.use(
  rateLimit({
    limit: 2_147_483_647,
    windowMs: 24 * 3_600_000,
    keyGenerator: (request) => request.headers.authorization as string,
    legacyHeaders: false,
    standardHeaders: false,
  }),
);
app.use((request, response, next) => {
  const { rateLimit: info } = request as unknown as { rateLimit: { remaining: number } };
  response.setHeader("x-ratelimit-remaining", info.remaining);
  next();
});
app.use(
  dirname(path),
  (request, _response, next) => {
    request.url = `/${BODY_FILE}`;
    next();
  },
  expressStaticGzip(folder, {
    enableBrotli: false,
    serveStatic: {
      etag: false,
      lastModified: false,
      cacheControl: false,
      acceptRanges: false,
      setHeaders: (response) => {
        for (const [name, value] of fields) response.setHeader(name, value);
      },
    },
  }),
);
const server = app.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
server.keepAliveTimeout = 65_000;
process.on("SIGTERM", () => process.exit());
