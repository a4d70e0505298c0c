/** The proxies of outgoing requests: the variables as curl reads them, in the form that Node's agents take. */
import { isIP } from "node:net";
import { InputError } from "./errors.ts";
import { shownLocation } from "./secrets.ts";

/** `http_proxy`, `https_proxy` and `no_proxy`, for `proxyEnv` of an agent. */
export type Proxies = Readonly<Record<string, string>>;

/**
 * HTTP_PROXY and HTTPS_PROXY, by the scheme of the address asked for, and NO_PROXY; the name in lower case
 * comes first. Throws InputError for anything but an http or https proxy: Node would ignore it.
 */
export function proxiesIn(env: Readonly<Record<string, string | undefined>>): Proxies {
  const http = proxyIn(env, "http_proxy");
  const https = proxyIn(env, "https_proxy");
  const none = env["no_proxy"] || env["NO_PROXY"] || "";
  return {
    ...(http !== null && { http_proxy: http }),
    ...(https !== null && { https_proxy: https }),
    no_proxy: none
      .split(/[\s,]+/)
      .flatMap(hostsOf)
      .join(","),
  };
}

function proxyIn(env: Readonly<Record<string, string | undefined>>, lower: string): string | null {
  const upper = lower.toUpperCase();
  const [variable, text] = env[lower] ? [lower, env[lower]] : [upper, env[upper] ?? ""];
  if (text === "") return null;
  const address = text.includes("://") ? text : `http://${text}`;
  const { protocol = "", pathname, search, hash } = URL.parse(address) ?? {};
  // After a password with a `/`, `?` or `#`, a parser takes the real host for a path.
  const isHostOnly = pathname === "/" && search === "" && hash === "";
  if (/^https?:$/.test(protocol) && isHostOnly) return address;
  const quotedAddress = JSON.stringify(shownLocation(address));
  throw new InputError(
    `${variable} ${quotedAddress}: expected a proxy such as http://proxy.example:3128`,
  );
}

/** A host of NO_PROXY as Node reads it. A name also stands for the names below it. */
function hostsOf(entry: string): string[] {
  if (entry === "" || entry === "*") return entry === "" ? [] : ["*"];
  const host = entry.replace(/^\*?\./, "").replace(/^\[(.*)\]$/, "$1");
  return isIP(host) === 0 ? [host, `.${host}`] : [host];
}
