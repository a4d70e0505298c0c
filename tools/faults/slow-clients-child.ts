/** A proxy of STORE and STATE with LIMITS (JSON) for connections, until it is killed. */
import { openAccounts } from "../../src/state/open.ts";
import { createClock } from "../../src/lib/clock.ts";
import { createLogger } from "../../src/hosts/node/request-log.ts";
import { startProxy } from "../../src/hosts/node/listen.ts";
import { openStore } from "../../src/store/open-store.ts";

const [store, state, limits] = process.argv.slice(2) as [string, string, string];
const clock = createClock(process.env["CHIPBOARD_NOW"]);
const { url } = await startProxy({
  store: await openStore(store),
  accounts: await openAccounts(state, clock),
  clock,
  log: createLogger({ level: "info", requests: "problems" }, clock),
  host: "127.0.0.1",
  port: 0,
  metricsPort: null,
  metricsHost: "127.0.0.1",
  socket: null,
  pollMs: 3_600_000,
  graceMs: 3_600_000,
  trustedHops: 0,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 10_000,
  tls: null,
  cacheBytes: 256_000_000,
  limits: JSON.parse(limits),
});
console.log(`listening on ${url}`);
