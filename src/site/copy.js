/** Blocks of code: buttons that copy them, and one language for all that have several. */

/**
 * Says what became of the last copy.
 *
 * @type {HTMLOutputElement | null}
 */
let told = null;

/**
 * Gives each block of code inside `container` a button that copies it.
 *
 * @param {ParentNode} container
 */
export function addCopyButtons(container) {
  for (const block of container.querySelectorAll(".code")) {
    const said = document.createElement("output");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", () => void copy(block, said));
    const tools = document.createElement("div");
    tools.className = "tools";
    tools.append(said, button);
    block.prepend(tools);
  }
}

/** Shows the language that is chosen in one block in all that have it. */
export function chooseLanguage() {
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
 * @param {Element} block
 * @param {HTMLOutputElement} said
 */
async function copy(block, said) {
  const open = block.querySelector("details[open]") ?? block;
  const code = /** @type {HTMLElement} */ (open.querySelector("code"));
  if (told !== null) told.textContent = "";
  told = said;
  said.textContent = (await isCopied(code)) ? "Copied" : "Selected: press Ctrl+C";
}

/**
 * Copies the text; selects it where the browser does not allow that, as on addresses without TLS.
 *
 * @param {HTMLElement} code
 */
async function isCopied(code) {
  try {
    await navigator.clipboard.writeText((code.textContent ?? "").trimEnd());
    return true;
  } catch {
    getSelection()?.selectAllChildren(code);
    return false;
  }
}
