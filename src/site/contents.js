/** A list of links to the sections of a page, which marks the one that is being read. */

/** A section whose start is above this line is being read. */
const LINE_PX = 96;
/** From this width on the list is open; the style sheet does that in new browsers alone. */
const WIDE_PX = 960;

/** @param {HTMLElement} contents */
export function markPlace(contents) {
  if (innerWidth >= WIDE_PX) contents.querySelector("details")?.setAttribute("open", "");
  const links = [...contents.querySelectorAll("a")];
  const sections = links.map(({ hash }) => document.getElementById(hash.slice(1)));
  const mark = () => {
    const isAbove = (/** @type {Element | null} */ section) =>
      section !== null && section.getBoundingClientRect().top < LINE_PX;
    const here = links[Math.max(0, sections.findLastIndex(isAbove))];
    // Where the same section is read on, the list stays where its reader scrolled it.
    if (here === undefined || here.ariaCurrent === "true") return;
    for (const link of links) link.ariaCurrent = link === here ? "true" : null;
    contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}
