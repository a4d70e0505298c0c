/** Saves a chart for the reader: as files, as a picture, as texts on the clipboard. */

/**
 * Gives the browser a file to save.
 *
 * @param {BlobPart} content
 * @param {string} type
 * @param {string} name
 */
export function saveFile(content, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Screens and slides show a picture larger than it is. */
const PNG_SCALE = 2;

/**
 * Saves an SVG that needs no other file as a picture.
 *
 * @param {string} svg
 * @param {string} name
 */
export async function savePng(svg, name) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * PNG_SCALE;
  canvas.height = image.naturalHeight * PNG_SCALE;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && saveFile(blob, "image/png", name), "image/png");
}

/**
 * Copies a text; the button says what became of it.
 *
 * @param {HTMLElement} button
 * @param {string} text
 * @param {string} otherwise what to do where the browser does not allow that, as on addresses without TLS
 */
export async function copyText(button, text, otherwise) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = otherwise;
  }
}

/** Copies the page's address. @param {HTMLElement} button */
export const copyLink = (button) => copyText(button, location.href, "Copy it from the address bar");

/** The buttons below which `keep` below answers, as HTML. @param {boolean} hasRequest */
export const keepButtons = (hasRequest) =>
  `<button type="button" data-save="csv">CSV</button><button type="button" data-save="svg">SVG</button>` +
  `<button type="button" data-save="png">PNG</button>` +
  `<button type="button" data-save="link" aria-live="polite">Copy link</button>` +
  (hasRequest
    ? '<button type="button" data-save="request" aria-live="polite">Copy request</button>'
    : "");

/**
 * Does what a button of `keepButtons` says.
 *
 * @param {HTMLElement} button
 * @param {{ csv: () => string, svg: () => string, name: string, requests: readonly string[] }} of `name` names the
 *   files, without extension; `requests` are addresses that the data came from
 */
export function keep(button, { csv, svg, name, requests }) {
  const what = button.dataset["save"];
  if (what === "csv") saveFile(csv(), "text/csv;charset=utf-8", `${name}.csv`);
  if (what === "svg") saveFile(svg(), "image/svg+xml", `${name}.svg`);
  if (what === "png") void savePng(svg(), `${name}.png`);
  if (what === "link") void copyLink(button);
  if (what === "request") {
    const commands = requests.map((url) => `curl -sS -H "x-api-key: $KEY" '${url}'`);
    void copyText(button, commands.join("\n"), "Not allowed by this browser");
  }
}
