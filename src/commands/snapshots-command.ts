/** `snapshots`: the operator's commands on published snapshots. */
import { resolve } from "node:path";
import { Command } from "commander";
import { clockFromEnvironment, configuredStore, createOption } from "../lib/config.ts";
import { printJson, printLine, startProgress } from "../lib/terminal.ts";
import { counted } from "../lib/text.ts";
import { DamageError } from "../lib/errors.ts";
import type * as Printer from "../desk/print.ts";
import type { ObjectStore } from "../ports/store.ts";
import { examples, jsonOption, withOptions, type JsonOption } from "./every-command.ts";
import {
  logKeysFrom,
  rememberOption,
  signKeyOption,
  verifyKeyOption,
  verifyKeysFrom,
  type LogKeyOptions,
  type RememberOption,
  type VerifyKeyOptions,
} from "./signing-options.ts";
import { keepDays, publicLine, wholeNumber } from "./option-values.ts";
import { s3Options, storeOptions, withStore, type StoreOptions } from "./store-options.ts";
import { timeGatesFrom, timeOptions, type TimeOptions } from "./time-options.ts";

type SnapshotOptions = StoreOptions & JsonOption;
type VerifyOptions = SnapshotOptions & VerifyKeyOptions & RememberOption & { all?: true };
type RollbackOptions = SnapshotOptions & LogKeyOptions & TimeOptions & { reason: string };
type PruneOptions = SnapshotOptions &
  LogKeyOptions &
  TimeOptions & { keepDays: number; dryRun?: true };

const REFERENCES = `
To name a snapshot, write head, head~1 (the publication before), a session (2026-11-21T00Z: its
last published revision) or a session and revision (2026-11-21T00Z/r1).
`;

const references = (...lines: string[]): string => REFERENCES + examples(...lines);

export function snapshotsCommand(): Command {
  return new Command("snapshots")
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(diffCommand())
    .addCommand(verifyCommand())
    .addCommand(repairCommand())
    .addCommand(inputsCommand())
    .addCommand(rollbackCommand())
    .addCommand(pruneCommand())
    .addCommand(copyCommand());
}

function listCommand(): Command {
  return desk("ls", "list the publications, newest first")
    .addOption(createOption("--limit <number>", "list at most this many", count).default(20))
    .addOption(createOption("--all", "list all"))
    .addHelpText("after", examples("snapshots ls", "snapshots ls --all --json"))
    .action(async (options: SnapshotOptions & { limit: number; all?: true }) => {
      const { listPublications } = await import("../desk/list.ts");
      const limit = options.all ? null : options.limit;
      const list = (store: ObjectStore) => listPublications(store, clockFromEnvironment(), limit);
      await onStore(options, list, (printer, found) => printer.printListing(found, options.store));
    });
}

function showCommand(): Command {
  return desk("show", "show one snapshot in words")
    .argument("[snapshot]", "the snapshot", "head")
    .addOption(createOption("--open", "print only the path of its report"))
    .addHelpText("after", references("snapshots show", "snapshots show head~1 --json"))
    .action(async (reference: string, options: SnapshotOptions & { open?: true }) => {
      const { describeSnapshot, reportPath } = await import("../desk/show.ts");
      if (options.open) {
        return withStore(options, async (store) => printLine(await reportPath(store, reference)));
      }
      const describe = (store: ObjectStore) => describeSnapshot(store, reference);
      await onStore(options, describe, (printer, found) => printer.printDescription(found));
    });
}

function diffCommand(): Command {
  return desk("diff", "compare two snapshots")
    .argument("<before>", "the older snapshot")
    .argument("<after>", "the newer snapshot")
    .addHelpText("after", references("snapshots diff 2026-11-21T00Z/r1 2026-11-21T00Z/r2"))
    .action(async (before: string, after: string, options: SnapshotOptions) => {
      const { compareSnapshots } = await import("../desk/compare.ts");
      const compare = (store: ObjectStore) => compareSnapshots(store, before, after);
      await onStore(options, compare, (printer, found) => printer.printComparison(found));
    });
}

function verifyCommand(): Command {
  return desk("verify", "check every byte of a snapshot; on damage, list it and exit with 6")
    .argument("[snapshot]", "the snapshot", "head")
    .addOption(createOption("--all", "check every snapshot that the log names"))
    .addOption(verifyKeyOption("also require that one of these public keys has signed the log"))
    .addOption(rememberOption())
    .addHelpText("after", references("snapshots verify --all --verify-key signing.pem.pub"))
    .action(async (reference: string, options: VerifyOptions) => {
      const { readRemembered, writeRemembered } = await import("../snapshot/log/seen.ts");
      const { verifySnapshots } = await import("../desk/verify.ts");
      const { all, remember } = options;
      const one = all ? null : reference;
      const keys = await verifyKeysFrom(options);
      const seen = remember === undefined ? null : await readRemembered(remember);
      const verify = async (store: ObjectStore) => {
        const { newest, ...found } = await verifySnapshots(store, one, keys, seen);
        if (found.damages.length > 0) {
          throw new DamageError(
            `${store.location} is damaged${keys === null ? "" : ", or not signed as asked"}: ${counted(found.damages.length, "finding")}`,
            found.damages,
          );
        }
        if (remember !== undefined && newest !== null) await writeRemembered(remember, newest);
        return { whole: true, ...found };
      };
      await onStore(options, verify, (printer, found) =>
        printer.printVerification(found, remember),
      );
    });
}

function repairCommand(): Command {
  return desk(
    "repair",
    "restore damaged and missing files from another store; exit with 6 if some cannot be restored",
  )
    .argument("[snapshot]", "the snapshot", "head")
    .addOption(createOption("--from <store>", "store to restore from").makeOptionMandatory())
    .addOption(createOption("--all", "repair every snapshot that the log names"))
    .addHelpText("after", references("snapshots repair --from /mnt/backup/snapshots --all"))
    .action(async (reference: string, options: SnapshotOptions & { from: string; all?: true }) => {
      const { repairSnapshots } = await import("../desk/repair.ts");
      const onBoth = (from: ObjectStore): Promise<void> =>
        onStore(
          options,
          (store) => repairSnapshots(store, from, options.all ? null : reference),
          (printer, done) => printer.printRepair(done),
        );
      await withStore({ ...options, store: options.from }, onBoth, "--from");
    });
}

function inputsCommand(): Command {
  return desk("inputs", "write the inputs of a snapshot into a folder, as they came")
    .argument("[snapshot]", "the snapshot", "head")
    .addOption(createOption("--out <folder>", "folder for the new files").makeOptionMandatory())
    .addHelpText("after", references("snapshots inputs --out ./made-from"))
    .action(async (reference: string, options: SnapshotOptions & { out: string }) => {
      const { writeInputs } = await import("../desk/write-inputs.ts");
      const write = (store: ObjectStore) => writeInputs(store, reference, options.out);
      await onStore(options, write, (printer, written) => printer.printInputs(written));
    });
}

function rollbackCommand(): Command {
  return withOptions(desk("rollback", "make an older snapshot the head again"), timeOptions())
    .argument("<snapshot>", "the snapshot")
    .addOption(
      createOption(
        "--reason <text>",
        "reason of the rollback; published with it",
        publicLine,
      ).makeOptionMandatory(),
    )
    .addOption(signKeyOption())
    .addOption(verifyKeyOption("continue only a log that one of these public keys has signed"))
    .addHelpText(
      "after",
      references(
        'snapshots rollback head~1 --reason "wrong feed"',
        'snapshots rollback head~1 --reason "wrong feed" --accept gap',
      ),
    )
    .action(async (reference: string, options: RollbackOptions) => {
      const { rollBack } = await import("../desk/rollback.ts");
      const gates = timeGatesFrom(options);
      const keys = await logKeysFrom(options);
      const back = (store: ObjectStore) =>
        rollBack(store, reference, options.reason, clockFromEnvironment(), keys, gates);
      await onStore(options, back, (printer, done) => printer.printRollback(done));
    });
}

const PRUNE_HELP = `
Do not prune a copy of another store: a pruned copy takes no more copies. Prune the other store, and copy it with
--mirror. A copy of the store that CHIPBOARD_STORE names is refused.
`;

function pruneCommand(): Command {
  return withOptions(
    desk("prune", "remove old snapshots and leftovers of crashed runs"),
    timeOptions(),
  )
    .addOption(
      createOption(
        "--keep-days <days>",
        "keep the snapshots of this many days, counted back from the newest publication (from the clock if that is earlier); the head, the publication before it and publications of the last hour always stay",
        keepDays,
      ).makeOptionMandatory(),
    )
    .addOption(
      createOption("--dry-run", "list the objects that prune would remove; remove nothing"),
    )
    .addOption(signKeyOption())
    .addOption(verifyKeyOption("continue only a log that one of these public keys has signed"))
    .addHelpText("after", PRUNE_HELP + examples("snapshots prune --keep-days 90 --dry-run"))
    .action(async (options: PruneOptions) => {
      const { prune } = await import("../desk/prune.ts");
      const { requireNoCopy } = await import("../desk/find-snapshot.ts");
      const { warnOfDepths } = await import("../desk/print.ts");
      const gates = timeGatesFrom(options);
      const keys = await logKeysFrom(options);
      warnOfDepths(options.keepDays, clockFromEnvironment().now());
      const { keepDays, dryRun = false } = options;
      const original = { ...options, store: configuredStore() || options.store };
      const pruneOwn = async (store: ObjectStore) => {
        if (resolve(original.store) !== resolve(options.store)) {
          await withStore(original, (other) => requireNoCopy(store, other));
        }
        return prune(store, keepDays, dryRun, clockFromEnvironment(), keys, gates);
      };
      await onStore(options, pruneOwn, (printer, pruning) => printer.printPruning(pruning));
    });
}

const COPY_HELP = `
FROM and TO are folders or s3://bucket/prefix; the --s3-... options and the AWS credentials are for
both. If they need different ones, copy into a folder first, and from there with the others.

You can go on publishing into FROM. A second run copies only objects that are new since the first, and
completes an interrupted run. TO must be empty or an earlier copy of FROM. A copy that you publish to, or
prune, takes no more copies. FROM is never changed. --mirror removes from TO only the objects that prunes
of FROM took.
`;

function copyCommand(): Command {
  return withOptions(new Command("copy"), s3Options())
    .description("copy a whole store: the objects that the log names, then the log")
    .argument("<from>", "the store to copy: a folder or s3://bucket/prefix")
    .argument("<to>", "the store to copy into, which is empty or an earlier copy")
    .addOption(
      createOption(
        "--mirror",
        "also remove objects from the target that prunes of the source took",
      ),
    )
    .addOption(createOption("--dry-run", "read and check everything; write nothing"))
    .addOption(jsonOption())
    .addHelpText(
      "after",
      COPY_HELP +
        examples(
          "snapshots copy ./snapshots /mnt/backup/snapshots",
          "snapshots copy s3://prices/chipboard ./snapshots --s3-endpoint https://s3.example.com",
        ),
    )
    .action(copyFromOptions);
}

async function copyFromOptions(
  fromLocation: string,
  toLocation: string,
  options: Omit<SnapshotOptions, "store"> & { mirror?: true; dryRun?: true },
): Promise<void> {
  const { copyStore } = await import("../desk/copy-store.ts");
  const { tell, end } = startProgress();
  const { mirror = false, dryRun = false } = options;
  const onBoth = (from: ObjectStore): Promise<void> =>
    onStore(
      { ...options, store: toLocation },
      (to) => copyStore(from, to, dryRun, tell, mirror).finally(end),
      (printer, done) => printer.printCopying(done),
      "TO",
    );
  await withStore({ ...options, store: fromLocation }, onBoth, "FROM");
}

const desk = (name: string, description: string): Command =>
  withOptions(new Command(name).description(description), [...storeOptions(), jsonOption()]);

/** Does the work, and prints the result. */
async function onStore<T extends object>(
  options: SnapshotOptions,
  work: (store: ObjectStore) => Promise<T>,
  print: (printer: typeof Printer, found: T) => void,
  named?: string,
): Promise<void> {
  const found = await withStore(options, work, named);
  if (options.json) printJson(found);
  else print(await import("../desk/print.ts"), found);
}

const count = wholeNumber("expected a whole number, 0 to 999999", 0, 999_999);
