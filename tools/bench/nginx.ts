/**
 * nginx with Lua from Debian: it looks the key up in a shared table, counts the call there, and
 * sends the compressed file from disk.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../test/program/free-port.ts";
import { BODY_FILE, readRecipe } from "./recipe.ts";
import { startServer, type Server } from "./server-process.ts";

const NGINX = "/usr/sbin/nginx";
const MODULES = "/usr/lib/nginx/modules";
const LUA_MODULES = ["ndk_http_module.so", "ngx_http_lua_module.so"];

/** Folders that nginx makes at its start, relative to its own. */
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
  (kind) => `${kind}_temp_path ${kind};`,
);

/** Names the missing parts of nginx and its Lua module; null: none. */
export function missingNginx(): string | null {
  const missing = [NGINX, ...LUA_MODULES.map((file) => join(MODULES, file))].filter(
    (path) => !existsSync(path),
  );
  return missing.length === 0 ? null : `${missing.join(", ")} (nginx-light, libnginx-mod-http-lua)`;
}

/** Starts nginx, one worker, with the recipe in `folder`. */
export async function startNginx(folder: string): Promise<Server> {
  const prefix = join(folder, "nginx");
  mkdirSync(prefix);
  const port = await freePort();
  const file = join(prefix, "nginx.conf");
  writeFileSync(file, configuration(folder, port));
  return startServer({
    name: "nginx + Lua",
    command: NGINX,
    args: ["-p", `${prefix}/`, "-c", file, "-e", join(prefix, "error.log")],
    env: {},
    log: join(prefix, "stderr.log"),
    url: `http://127.0.0.1:${port}`,
  });
}

function configuration(folder: string, port: number): string {
  const { path, key, headers } = readRecipe(folder);
  const own = new Set([
    "content-type",
    "content-length",
    "content-encoding",
    "x-ratelimit-remaining",
  ]);
  const fields = headers
    .filter(([name]) => !own.has(name.toLowerCase()))
    .map(([name, value]) => `add_header ${name} ${JSON.stringify(value)};`);
  const contentType = headers.find(([name]) => name.toLowerCase() === "content-type")?.[1];
  return `
${LUA_MODULES.map((module) => `load_module ${join(MODULES, module)};`).join("\n")}
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 1024; }
http {
  ${TEMPORARY.join("\n  ")}
  access_log off;
  server_tokens off;
  keepalive_timeout 65s;
  keepalive_requests 1000000000;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=16 inactive=1h;
  open_file_cache_valid 1h;
  etag off;
  types {}
  default_type ${JSON.stringify(contentType)};
  lua_shared_dict keys 1m;
  lua_shared_dict calls 1m;
  init_by_lua_block { ngx.shared.keys:set("Bearer ${key}", "bench") }
  server {
    listen 127.0.0.1:${port};
    location = ${path} {
      access_by_lua_block {
        local presented = ngx.var.http_authorization
        local account = presented and ngx.shared.keys:get(presented)
        if not account then return ngx.exit(401) end
        ngx.shared.calls:incr(account, 1, 0)
        ngx.header["x-ratelimit-remaining"] = "2147483647"
      }
      alias ${join(folder, BODY_FILE)};
      gzip_static on;
      ${fields.join("\n      ")}
    }
  }
}
`;
}

/**
 * Starts nginx, one worker, as a front with TLS: a port for each upstream, with connections that it keeps.
 * Returns the address of each, in their order.
 */
export async function startTlsFront(
  folder: string,
  upstreams: readonly Server[],
  files: { readonly cert: string; readonly key: string },
): Promise<{ readonly front: Server; readonly urls: readonly string[] }> {
  const prefix = join(folder, "front");
  mkdirSync(prefix);
  const ports: number[] = [];
  for (const _ of upstreams) ports.push(await freePort());
  const plainPort = await freePort();
  const servers = upstreams.map(
    ({ url }, at) => `
  upstream u${at} { server ${url.replace("http://", "")}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${ports[at]} ssl;
    location / {
      proxy_pass http://u${at};
      proxy_http_version 1.1;
      proxy_set_header connection "";
      proxy_set_header x-forwarded-for $remote_addr;
    }
  }`,
  );
  const file = join(prefix, "nginx.conf");
  writeFileSync(
    file,
    `
${process.getuid?.() === 0 ? "user root;" : ""}
daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 1024; }
http {
  ${TEMPORARY.join("\n  ")}
  access_log off;
  keepalive_timeout 65s;
  keepalive_requests 1000000000;
  ssl_certificate ${files.cert};
  ssl_certificate_key ${files.key};
  ssl_protocols TLSv1.3;
  server { listen 127.0.0.1:${plainPort}; return 200; }
${servers.join("\n")}
}
`,
  );
  const front = await startServer({
    name: "nginx with TLS",
    command: NGINX,
    args: ["-p", `${prefix}/`, "-c", file, "-e", join(prefix, "error.log")],
    env: {},
    log: join(prefix, "stderr.log"),
    url: `http://127.0.0.1:${plainPort}`,
  });
  return { front, urls: ports.map((port) => `https://127.0.0.1:${port}`) };
}
