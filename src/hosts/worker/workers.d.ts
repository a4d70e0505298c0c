/** The module of a Worker's platform that this host imports. */
declare module "cloudflare:workers" {
  /** Lets work go on after the answer of the request that asks for it. */
  export function waitUntil(work: Promise<unknown>): void;
}
