/**
 * The report's script: sorts and filters the board. The page is whole without it. It is inline, so
 * its digest is in the page's content security policy.
 */
export const REPORT_SCRIPT = `
const table = document.getElementById("contracts");
const body = table.tBodies[0];
const rows = [...body.rows];
const headings = [...table.tHead.rows[0].cells];
const find = document.getElementById("find");
const segment = document.getElementById("segment");
const shown = document.getElementById("shown");

const filter = () => {
  const words = find.value.toLowerCase().split(/\\s+/);
  let count = 0;
  for (const row of rows) {
    const text = [0, 1, 2, 7].map((at) => row.cells[at].textContent).join(" ").toLowerCase();
    const inSegment = segment.selectedIndex === 0 || row.cells[2].textContent === segment.value;
    row.hidden = !inSegment || !words.every((word) => text.includes(word));
    if (!row.hidden) count += 1;
  }
  shown.textContent = count + " of " + rows.length + (rows.length === 1 ? " contract" : " contracts");
};

const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const sorted = (at, kind, descending) => {
  const keyed = rows.map((row) => {
    const cell = row.cells[at];
    if (kind === "text") return { row, key: cell.textContent };
    return { row, key: cell.dataset.value === undefined ? null : Number(cell.dataset.value) };
  });
  const sign = descending ? -1 : 1;
  return keyed
    .sort((a, b) => (a.key === null) - (b.key === null) || sign * compared(a.key, b.key))
    .map(({ row }) => row);
};

/* First the useful way (text up, numbers down), then the other, then board order again. */
headings.forEach((heading, at) => {
  const kind = heading.dataset.sort;
  if (kind === undefined) return;
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  heading.append(button);
  heading.ariaSort = "none";
  const ways = kind === "text" ? ["ascending", "descending"] : ["descending", "ascending"];
  button.addEventListener("click", () => {
    const way = ways[ways.indexOf(heading.ariaSort) + 1] ?? "none";
    for (const other of headings) if (other.dataset.sort) other.ariaSort = "none";
    heading.ariaSort = way;
    body.append(...(way === "none" ? rows : sorted(at, kind, way === "descending")));
  });
});

find.addEventListener("input", filter);
segment.addEventListener("change", filter);
document.getElementById("controls").hidden = false;
filter();
`;
