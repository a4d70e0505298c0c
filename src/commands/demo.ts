import { Command } from "commander";
import { clockFromEnvironment } from "../lib/config.ts";
import { examples } from "./every-command.ts";
import { serve } from "./serve.ts";
import { withServeOptions, type ServeOptions } from "./serve-options.ts";
import { storeFromOptions } from "./store-options.ts";

/** `demo`: publish the demonstration market up to now, create keys, and serve it. */
export function demoCommand(): Command {
  return withServeOptions(new Command("demo"))
    .addHelpText(
      "after",
      examples("demo", "demo --port 8090 --store /tmp/demo --state /tmp/demo-state"),
    )
    .action(demo);
}

async function demo(options: ServeOptions): Promise<void> {
  const { publishDemo } = await import("../demo/publish-demo.ts");
  const { demoKeys } = await import("../demo/demo-keys.ts");
  const { welcome } = await import("../demo/welcome.ts");
  const { progressTo } = await import("../lib/terminal.ts");
  const clock = clockFromEnvironment();
  const store = await storeFromOptions(options);
  const progress = progressTo(process.stderr);
  try {
    await publishDemo(store, clock, progress.tell);
  } finally {
    progress.end();
    await store.close();
  }
  // Create keys only when the proxy serves: a start that fails must not replace the keys of a running one.
  await serve(options, async ({ url, metricsUrl }) => {
    const keys = await demoKeys(options.state, clock);
    return options.json
      ? JSON.stringify({ url, metrics_url: metricsUrl, keys })
      : welcome(url, keys, options.store);
  });
}
