/** The plans in the browser: marks the caller's own tier. */
import { withKey } from "./key.js";
import { grouped } from "./text.js";

const own = /** @type {HTMLElement} */ (document.getElementById("own"));

await withKey(({ tier, limit, used }) => {
  for (const cell of document.querySelectorAll("[data-tier]")) {
    cell.classList.toggle("own", cell.getAttribute("data-tier") === tier);
  }
  const title = document.querySelector(`thead [data-tier="${tier}"]`)?.textContent ?? tier;
  const calls =
    grouped(String(used), 0) + (limit === null ? "" : ` of ${grouped(String(limit), 0)}`);
  own.textContent = `Your tier is ${title}; ${calls} calls used this month.`;
  own.hidden = false;
});
