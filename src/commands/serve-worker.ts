/** The script of a worker of `serve --workers N`; the primary tells it the options. */
import { createLogger } from "../proxy/log.ts";
import { KERNEL_SHARES_PORT, runWorker } from "../proxy/workers.ts";
import type { ServeOptions } from "./serve.ts";
import { logOptions, openFiles, startOne } from "./serving.ts";

await runWorker(async (settings, clock, gatekeeper) => {
  // What `startSeveral` hands over comes back as it was.
  const options = settings as ServeOptions;
  const files = await openFiles(options);
  const log = createLogger(logOptions(options), clock);
  const alone: ServeOptions = { ...options, metricsPort: "off" };
  const reusePort = KERNEL_SHARES_PORT;
  const proxy = await startOne(alone, { ...files, gatekeeper, clock, log, reusePort });
  const close = async (): Promise<void> => {
    await proxy.close();
    await files.store.close();
  };
  return { url: proxy.url, metrics: () => proxy.metrics(), close };
});
