/** The rights of the units, as systemd judges them. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { testWithService } from "../services/service-programs.ts";
import { names, ROOT } from "./deploy-files.ts";

const services = names.filter((name) => name.endsWith(".service"));

testWithService("systemd-analyze").each(services)("%s: exposure is under 3.0", (name) => {
  // systemd wants a name for an instance.
  const args = ["security", "--offline=true", "--threshold=30", join(ROOT, "deploy", name)];
  const printed = execFileSync("systemd-analyze", args, { encoding: "utf8" });
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(printed)?.[1]);
  expect(exposure).toBeLessThan(3);
});
