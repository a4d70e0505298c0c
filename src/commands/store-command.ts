/** `store`: begins a store. */
import { Command } from "commander";
import { clockFromEnvironment } from "../lib/config.ts";
import { printJson, printLine } from "../lib/terminal.ts";
import { examples, jsonOption, withOptions, type JsonOption } from "./every-command.ts";
import { storeOptions, withStore, type StoreOptions } from "./store-options.ts";

const INIT_HELP = `
"publish" begins no store: if --store is wrong or its disk is missing, it would begin a second log under the same
address. Run "store init" once for each new store, by hand and never in the scheduled job. "init" and "demo" do it for
their stores, and a copy has the mark of its source.
`;

export function storeCommand(): Command {
  return new Command("store").addHelpText("after", examples("store init")).addCommand(
    withOptions(new Command("init"), [...storeOptions(), jsonOption()])
      .description("mark a new store, so that publish may begin its log; do nothing if it has one")
      .addHelpText(
        "after",
        INIT_HELP + examples("store init", "store init --store s3://prices/chipboard"),
      )
      .action(init),
  );
}

async function init(options: StoreOptions & JsonOption): Promise<void> {
  const { markStore } = await import("../snapshot/store-mark.ts");
  await withStore(options, async (store) => {
    const created = await markStore(store, clockFromEnvironment().now());
    const { location } = store;
    if (options.json) return printJson({ store: location, created });
    printLine(
      created ? `Marked a new store at ${location}.` : `There is a store at ${location} already.`,
    );
  });
}
