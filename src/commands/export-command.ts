/** `export`: writes all pages and data that need no key as a site of files, for any static host. */
import { Command } from "commander";
import { createOption } from "../lib/config.ts";
import { printJson, printLine, startProgress } from "../lib/terminal.ts";
import { counted } from "../lib/text.ts";
import { examples, withOptions, type JsonOption } from "./every-command.ts";
import { readPlans } from "./serve-command.ts";
import { publicUrl, serveOptions, type ServeOptions } from "./serve-options.ts";
import { verifyKeyOption, verifyKeysFrom, type VerifyKeyOptions } from "./signing-options.ts";
import { storeFromOptions, type StoreOptions } from "./store-options.ts";

type ExportOptions = StoreOptions &
  VerifyKeyOptions &
  JsonOption &
  Pick<ServeOptions, "grace" | "plans"> & { readonly publicUrl: string; readonly service?: string };

const HELP = `
The site has the pages, board, contracts, checksums, log and feed of the newest publication. It is not an API: it has no
keys, baskets or histories. With --service, its pages link to the service for these.

DIR is replaced whole. It must be new, empty, or an earlier export.
`;

/** The options of `serve` that say where the data is and shape its pages. */
const SHARED = /^(?:store|s3-.+|grace|plans|json)$/;

export function exportCommand(): Command {
  const shared = serveOptions().filter((option) => SHARED.test(option.name()));
  return withOptions(new Command("export"), shared)
    .argument("<dir>", "folder of the site; it is replaced whole")
    .addOption(
      createOption(
        "--public-url <url>",
        "address of the site, with its prefix: feed, sitemap and 404.html name it",
        publicUrl,
      ).makeOptionMandatory(),
    )
    .addOption(
      createOption(
        "--service <url>",
        "address of a service that sells keys; pages link to it for the rest",
        publicUrl,
      ),
    )
    .addOption(verifyKeyOption("export only a log that one of these public keys has signed"))
    .addHelpText(
      "after",
      HELP +
        examples(
          "export ./site --public-url https://prices.example",
          "export ./site --public-url https://name.github.io/prices --store s3://prices/chipboard",
          "export ./site --public-url https://prices.example --service https://api.prices.example",
        ),
    )
    .action(writeSite);
}

async function writeSite(folder: string, options: ExportOptions): Promise<void> {
  const { exportedSite } = await import("../hosts/files/site.ts");
  const { replaceFolder } = await import("../hosts/files/folder.ts");
  const { publicUrl: url, service = null, grace: graceMs } = options;
  const verifyKeys = await verifyKeysFrom(options);
  const plans = await readPlans(options);
  const store = await storeFromOptions(options);
  const progress = startProgress();
  try {
    progress.tell("reading the publication", null, null);
    const site = await exportedSite({ store, publicUrl: url, service, graceMs, verifyKeys, plans });
    const { snapshot, publication } = site;
    const written = await replaceFolder(
      folder,
      site.files((done) => progress.tell("writing files", done, site.size)),
    );
    progress.end();
    if (options.json) {
      return printJson({ folder, public_url: url, service, snapshot, publication, ...written });
    }
    const size = `${counted(written.files, "file")}, ${(written.bytes / 1_000_000).toFixed(1)} MB`;
    printLine(
      `Exported ${snapshot}, publication ${publication}, to ${folder}: ${size}, for ${url}/`,
    );
  } finally {
    progress.end();
    await store.close();
  }
}
