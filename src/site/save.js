/** Saves a chart for the reader: as files, as a picture, as texts on the clipboard. */

/**
 * Gives the browser a file to save.
 *
 * @param {BlobPart} content
 * @param {string} type
 * @param {string} name
 */
function saveFile(content, type, name) {
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
async function savePng(svg, name) {
  const image = new Image();
  const picture = svg.replace("<svg", '<svg class="picture"');
  image.src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
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
async function copyText(button, text, otherwise) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = otherwise;
  }
}

/** Copies the page's address. @param {HTMLElement} button */
export const copyLink = (button) => copyText(button, location.href, "Copy it from the address bar");

/**
 * The SVG with the page's font in it. Without the font it stays as it is.
 *
 * @param {string} svg whose style begins with <style>
 */
async function withFont(svg) {
  const link = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[as="font"]'));
  const font = link && (await fetch(link.href).catch(() => null));
  if (!font?.ok) return svg;
  const bytes = new Uint8Array(await font.arrayBuffer());
  const text = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
  const face = `@font-face { font-family: "Figtree Variable"; font-weight: 300 900; src: url("data:font/woff2;base64,${text}"); }`;
  return svg.replace("<style>", () => `<style>${face}`);
}

/**
 * The buttons below which `keep` below answers, as HTML.
 *
 * @param {boolean} hasRequest
 * @param {boolean} [isFiles] whether there are only the files
 */
export const keepButtons = (hasRequest, isFiles = false) =>
  `<button type="button" data-save="csv">CSV</button><button type="button" data-save="svg">SVG</button>` +
  (isFiles
    ? ""
    : '<button type="button" data-save="png">PNG</button>' +
      '<button type="button" data-save="link" aria-live="polite">Copy link</button>' +
      '<button type="button" data-save="cite" aria-live="polite">Cite this</button>') +
  (hasRequest
    ? '<button type="button" data-save="request" aria-live="polite">Copy request</button>'
    : "");

/**
 * Does what a button of `keepButtons` says.
 *
 * @param {HTMLElement} button
 * @param {{ csv: () => string | Promise<string>, svg: () => string | Promise<string>, name: string,
 *   cite: () => string, requests: readonly string[] }} of `name` names the files, without extension; `cite` is the
 *   text that cites the chart; `requests` are addresses that the data came from
 */
export async function keep(button, { csv, svg, name, cite, requests }) {
  const what = button.dataset["save"];
  if (what === "csv") saveFile(await csv(), "text/csv;charset=utf-8", `${name}.csv`);
  if (what === "svg") saveFile(await withFont(await svg()), "image/svg+xml", `${name}.svg`);
  if (what === "png") await savePng(await withFont(await svg()), `${name}.png`);
  if (what === "link") await copyLink(button);
  if (what === "cite") await copyText(button, cite(), "Not allowed by this browser");
  if (what === "request") {
    const commands = requests.map((url) => `curl -sS -H "x-api-key: $KEY" '${url}'`);
    await copyText(button, commands.join("\n"), "Not allowed by this browser");
  }
}

/**
 * The text that cites a chart: its title, its source lines and its address.
 *
 * @param {string} title
 * @param {readonly string[]} notes the lines below a saved chart
 * @param {string} address
 */
export const citation = (title, notes, address) =>
  [title, ...notes, address].map((part) => part.replace(/\.$/, "")).join(". ");

/**
 * The line that says what a saved chart shows the state of. Plain text.
 *
 * @param {string} session ISO 8601
 * @param {string | null} publication its number; null: of answers of several publications
 */
export const sessionNote = (session, publication) =>
  `Session ${session.slice(0, 16).replace("T", " ")} UTC${publication === null ? "" : `, publication ${publication}`}, chipboard.`;
