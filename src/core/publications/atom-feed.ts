/** The feed of publications for feed readers and monitors (Atom, RFC 4287). It names no contract and no price. */
import type { Platform } from "../../ports/platform.ts";
import { PROGRAM } from "../../lib/version.ts";
import { sessionUtc } from "../../market/session.ts";
import { publicationKind, type Publication } from "../../snapshot/log/entry.ts";
import { snapshotText } from "../../store/paths.ts";
import { FEED_TYPE, PAGES, UNCOUNTED_ROUTES } from "../../public/uncounted-routes.ts";

/** How many publishes and rollbacks the feed has. */
export const FEED_LENGTH = 100;

interface FeedContent {
  /** The oldest publication of the log; the feed's own id comes from it. */
  readonly first: Publication;
  /** The newest publishes and rollbacks, oldest first; at least one. */
  readonly newest: readonly Publication[];
}

/**
 * The text of the feed, newest publication first. `origin` is the service's address: a reader shows entries far from
 * the feed.
 */
export function feedBody(
  platform: Platform,
  origin: string,
  { first, newest }: FeedContent,
): string {
  const root = xmlText(origin);
  const [last] = newest.slice(-1) as [Publication];
  const title = `${PROGRAM.name}: publications`;
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${idOf(platform, "feed", first)}</id>
<title>${xmlText(title)}</title>
<updated>${last.at}</updated>
<author><name>${PROGRAM.name}</name></author>
<link rel="self" type="${FEED_TYPE}" href="${root}${UNCOUNTED_ROUTES.feed.path}"/>
<link rel="alternate" type="text/html" href="${root}/"/>
${newest
  .map((entry) => entryElement(platform, origin, entry))
  .reverse()
  .join("\n")}
</feed>
`;
}

/** The place of a publication on the page of corrections. */
export const correctionsHref = ({ number }: Publication): string =>
  `${PAGES.corrections.path.slice(1)}#publication-${number}`;

const TITLES = { publish: "Published", revise: "Revised", rollback: "Rolled back to" } as const;

function entryElement(platform: Platform, origin: string, entry: Publication): string {
  const { at, session, revision, reason, corrections } = entry;
  const what = publicationKind(entry);
  const text = [
    `Session ${sessionUtc(session)}, revision ${revision}.`,
    `Corrections: ${corrections}.`,
    ...(reason === null ? [] : [`Reason: ${reason}`]),
  ].join(" ");
  const address = corrections > 0 ? correctionsHref(entry) : PAGES.status.path.slice(1);
  return `<entry>
<id>${idOf(platform, "entry", entry)}</id>
<title>${TITLES[what]} ${snapshotText(entry)}</title>
<published>${at}</published>
<updated>${at}</updated>
<category term="${what}"/>
<link rel="alternate" type="text/html" href="${xmlText(`${origin}/${address}`)}"/>
<content type="text">${xmlText(text)}</content>
</entry>`;
}

/**
 * A UUID of version 8 (RFC 9562, 5.8) from the SHA-256 of what makes the publication unique. It is the
 * same at every address and in every copy of the store.
 */
function idOf(platform: Platform, kind: "feed" | "entry", publication: Publication): string {
  const { number, action, at, manifest_sha256 } = publication;
  const parts = [kind, number, action, snapshotText(publication), at, manifest_sha256];
  const hex = platform.sha256(parts.join("\n"));
  // The version, 8, and the variant stand in digits of their own.
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  const groups = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`];
  return `urn:uuid:${[...groups, variant + hex.slice(17, 20), hex.slice(20, 32)].join("-")}`;
}

/** Not allowed in XML, not even as references (XML 1.0, 2.2). A lone surrogate is no character. */
const NO_CHARACTER = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/gu;

const REFERENCES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  // Otherwise a parser reads a line feed.
  "\r": "&#13;",
};

/** Text as it stands in an element or an attribute. What XML cannot hold becomes U+FFFD. */
export const xmlText = (text: string): string =>
  text
    .replaceAll(NO_CHARACTER, "\ufffd")
    .replaceAll(/[&<>"\r]/g, (character) => REFERENCES[character] as string);
