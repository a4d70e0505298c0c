/**
 * For `--import`: at its end the process writes to standard error, as the last line of JSON, which modules it
 * loaded, and where Node keeps compiled code (null: nowhere).
 */
import { getCompileCacheDir, registerHooks } from "node:module";

const urls: string[] = [];
registerHooks({
  load(url, context, nextLoad) {
    urls.push(url);
    return nextLoad(url, context);
  },
});
process.once("exit", () => {
  process.stderr.write(`${JSON.stringify({ urls, cache: getCompileCacheDir() ?? null })}\n`);
});
