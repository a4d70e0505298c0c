/**
 * Programs of services. A test file that imports from this folder runs with `npm run test:services`, every other
 * file with `npm test` (vitest.config.ts).
 */
import { testWith, type AnyTest } from "../http/needed-tools.ts";

type ServiceProgram =
  | "caddy"
  | "chromium"
  | "chromium-headless-shell"
  | "nginx"
  | "prometheus"
  | "promtool"
  | "redis-server"
  | "soffice"
  | "systemd-analyze";

/** `test` if the program of the service is installed or must be (CI). */
export const testWithService = (program: ServiceProgram): AnyTest => testWith(program);
