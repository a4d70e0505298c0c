/** Blocks of code: buttons that copy them or show all of them, and one language for all that have several. */

/** Gives all blocks of the page their buttons, and lets their languages be chosen. */
export function equipCode() {
  for (const block of document.querySelectorAll(".code")) {
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.innerHTML = '<output></output><button type="button">Copy</button>';
    tools.lastElementChild?.addEventListener("click", async () => {
      for (const said of document.querySelectorAll(".code output")) said.textContent = "";
      const code = block.querySelector("[open] code") ?? block.querySelector("code");
      const said = (await isCopied(code)) ? "Copied" : "Selected: press Ctrl+C";
      tools.firstElementChild?.replaceChildren(said);
    });
    block.prepend(tools);
  }

  foldLong(document);

  // The language that is chosen in one block shows in all that have it.
  document.addEventListener("click", (event) => {
    const chosen = /** @type {Element} */ (event.target);
    if (!chosen.matches(".tabs summary")) return;
    event.preventDefault();
    for (const tabs of document.querySelectorAll(".tabs")) {
      const labels = [...tabs.querySelectorAll("summary")];
      const same = labels.find(({ textContent }) => textContent === chosen.textContent);
      if (same === undefined) continue;
      for (const label of labels) label.parentElement?.toggleAttribute("open", label === same);
    }
  });
}

/**
 * Gives each block that is higher than its place a button that shows all of it.
 *
 * @param {ParentNode} box
 */
export function foldLong(box) {
  for (const pre of box.querySelectorAll(":is(.code, .answer) pre")) {
    if (pre.scrollHeight <= pre.clientHeight + 1) continue;
    const more = document.createElement("button");
    more.type = "button";
    more.className = "more";
    more.textContent = "Show all";
    more.addEventListener("click", () => {
      pre.classList.add("whole");
      more.remove();
      /** @type {HTMLElement} */ (pre).focus({ preventScroll: true });
    });
    pre.after(more);
  }
}

/**
 * Copies the text; selects it where the browser does not allow that, as on addresses without TLS.
 *
 * @param {Element | null} code
 */
async function isCopied(code) {
  try {
    await navigator.clipboard.writeText((code?.textContent ?? "").trimEnd());
    return true;
  } catch {
    if (code !== null) getSelection()?.selectAllChildren(code);
    return false;
  }
}
