/** The page `/verify` in the browser: proves a file of evidence that the reader chooses. It asks no server. */
import { EvidenceError, proveEvidence } from "./evidence.js";
import { tableHtml } from "./html.js";
import { escaped, foreign } from "./text.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const chosen = /** @type {HTMLInputElement} */ (byId("file"));

/** @param {File} file */
async function show(file) {
  byId("proof").hidden = byId("refusal").hidden = true;
  try {
    const { sentence, steps, permission } = await proveEvidence(
      new Uint8Array(await file.arrayBuffer()),
    );
    byId("figure").innerHTML = foreign(sentence);
    byId("steps").innerHTML = tableHtml(
      "",
      [
        { label: "Link", html: ({ link }) => escaped(link) },
        { label: "Proven", html: ({ isProven }) => (isProven ? "yes" : "no") },
        { label: "What", html: ({ text }) => escaped(text) },
      ],
      steps,
    );
    byId("permission").textContent = `The file says: ${permission}`;
    byId("proof").hidden = false;
  } catch (error) {
    if (!(error instanceof EvidenceError)) throw error;
    byId("refusal").textContent = `${file.name} proves nothing: ${error.message}.`;
    byId("refusal").hidden = false;
  }
}

chosen.addEventListener("change", () => {
  const [file] = chosen.files ?? [];
  if (file !== undefined) void show(file);
});
