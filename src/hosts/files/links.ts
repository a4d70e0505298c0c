/**
 * The links of pages that become files. A page of a service names the addresses of that service; among files a page is
 * a folder, an answer of the API is a file of another name, and some addresses are not there.
 */
import { rootOf } from "../../pages/page-frame.ts";
import { API } from "../../public/routes.ts";
import { escaped, unescaped } from "../../site/text.js";

export interface Site {
  /** `https://host/prefix`, without a slash at its end. */
  readonly publicUrl: string;
  /** The address of the service that has the rest, without a slash at its end; null: there is none. */
  readonly service: string | null;
  /** The path in the site, such as `/status/`, of each path of a service that the site has. */
  readonly places: ReadonlyMap<string, string>;
}

/** In place of an address that nobody named. */
const NO_SERVICE = "https://prices.example";

const LINK = /<a\b[^>]*?\shref="([^"]*)"[^>]*>(.*?)<\/a>/gs;
const ITEM = /<li[^>]*>\s*<a\b[^>]*?\shref="([^"]*)"[^>]*>.*?<\/li>\s*/gs;
const NAVIGATION = /<nav\b.*?<\/nav>/gs;
const ADDRESS = /(\s(?:href|src|srcset)=)"([^"]*)"/g;
const ORIGIN = /<span data-origin>[^<]*<\/span>/g;

/**
 * The page at `path` of a service as a page of the site. Its links lead to files, or else to the service. Without a
 * service, a link that leads nowhere becomes its text; in a navigation, and with the item of a list that it begins, it
 * goes. `isAnywhere`: its links also work below another path than its own.
 */
export function linkedPage(html: string, path: string, site: Site, isAnywhere = false): string {
  const { publicUrl, service } = site;
  const root = isAnywhere
    ? `${new URL(publicUrl).pathname.replace(/\/$/, "")}/`
    : rootOf(site.places.get(path) ?? path);
  // Absolute addresses are done first.
  const leadsNowhere = (href: string): boolean =>
    isRelative(href) && targetOf(href, path, site) === null;
  const unless = (whole: string, href: string): string => (leadsNowhere(href) ? "" : whole);
  const relative = (href: string): string => {
    const target = isRelative(href) ? targetOf(href, path, site) : undefined;
    if (target === null || target === undefined) return href;
    if (!target.startsWith("/")) return escaped(target);
    return escaped(`${root}${target.slice(1)}` || "./");
  };
  return absoluteLinks(html, site)
    .replaceAll(ORIGIN, () => `<span>${escaped(service ?? NO_SERVICE)}</span>`)
    .replaceAll(ITEM, unless)
    .replaceAll(NAVIGATION, (part) => part.replaceAll(LINK, unless))
    .replaceAll(LINK, (whole, href: string, words: string) => (leadsNowhere(href) ? words : whole))
    .replaceAll(ADDRESS, (_, name: string, href: string) => `${name}"${relative(href)}"`)
    .replaceAll(escaped(publicUrl + API), () => escaped((service ?? NO_SERVICE) + API));
}

/** Absolute addresses in quotes, as in XML and JSON-LD. One that leads nowhere becomes the address of the first page. */
export const absoluteLinks = (text: string, site: Site): string =>
  text.replaceAll(
    new RegExp(`"(${RegExp.escape(escaped(site.publicUrl))}/[^"\\\\]*)"`, "g"),
    (_, href: string) => {
      const target = targetOf(href, "/", site);
      return `"${escaped(absolute(target ?? "/", site.publicUrl))}"`;
    },
  );

/** The sitemap without the addresses that the site has not. */
export const linkedSitemap = (xml: string, site: Site): string =>
  xml.replaceAll(/<url><loc>(.*?)<\/loc><\/url>\n?/g, (_, href: string) => {
    const place = site.places.get(pathIn(href, "/", site)?.pathname ?? "");
    if (place === undefined) return "";
    return `<url><loc>${escaped(site.publicUrl + place)}</loc></url>\n`;
  });

const isRelative = (href: string): boolean => !/^[a-z][a-z\d+.-]*:/i.test(href);

const absolute = (target: string, publicUrl: string): string =>
  target.startsWith("/") ? publicUrl + target : target;

/**
 * The path in the site, with query and fragment, or the address at the service, that an address of a page leads to;
 * null: neither is there. Undefined: it stays, because it is not one of the service.
 */
function targetOf(href: string, path: string, site: Site): string | null | undefined {
  if (href.startsWith("#")) return undefined;
  const url = pathIn(href, path, site);
  if (url === null) return undefined;
  const { pathname, search, hash } = url;
  const place = site.places.get(pathname);
  if (place !== undefined) return place + search + hash;
  return site.service === null ? null : site.service + pathname + search + hash;
}

/** The address as one below the service's root; null: it is somewhere else. */
function pathIn(href: string, path: string, { publicUrl }: Site): URL | null {
  const url = URL.parse(unescaped(href), publicUrl + path);
  if (url === null || !url.href.startsWith(`${publicUrl}/`)) return null;
  return new URL(url.href.slice(publicUrl.length), "http://site");
}
