/** The plans in the browser: marks the caller's own, and offers only those that have more. */
import { withKey } from "./key.js";
import { grouped } from "./text.js";

const own = /** @type {HTMLElement} */ (document.getElementById("own"));

await withKey(({ tier, limit, used }) => {
  for (const cell of document.querySelectorAll("[data-tier]")) {
    cell.classList.toggle("own", cell.getAttribute("data-tier") === tier);
  }
  const cards = [...document.querySelectorAll(".plan")];
  const ownAt = cards.findIndex(({ classList }) => classList.contains("own"));
  for (const [at, card] of cards.entries()) {
    const step = /** @type {HTMLElement} */ (card.querySelector(".step"));
    step.hidden = at < ownAt;
    if (at === ownAt) step.textContent = "Your plan";
  }
  const title = document.querySelector(`thead [data-tier="${tier}"]`)?.textContent ?? tier;
  const calls =
    grouped(String(used), 0) + (limit === null ? "" : ` of ${grouped(String(limit), 0)}`);
  own.textContent = `Your plan is ${title}: ${calls} calls used this month.`;
  own.hidden = false;
});
