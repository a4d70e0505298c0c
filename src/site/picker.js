/** A search field with a list of what it finds, which the keyboard works (the combobox pattern of ARIA). */

/**
 * @typedef {object} Choice
 * @property {string} id
 * @property {string} html what the list shows
 */

/**
 * Arrow keys go through the list, Enter and a click choose, Escape closes. The field is emptied after
 * each choice, and keeps the focus.
 *
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {(wanted: string) => readonly Choice[]} find the choices for what the field holds
 * @param {(id: string) => void} choose
 */
export function makePicker(field, list, find, choose) {
  let active = -1;

  /** @param {boolean} isOpen */
  function open(isOpen) {
    const choices = isOpen ? find(field.value.trim()) : [];
    list.innerHTML = choices
      .map(
        ({ id, html }, at) =>
          `<li role="option" id="${list.id}-${at}" data-id="${id}" aria-selected="false">${html}</li>`,
      )
      .join("");
    list.hidden = choices.length === 0;
    field.setAttribute("aria-expanded", String(!list.hidden));
    activate(list.hidden ? -1 : 0);
  }

  /** @param {number} at -1: none */
  function activate(at) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = at;
    const option = list.children[at];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option === undefined) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", option.id);
  }

  /** @param {Element | null | undefined} option */
  function take(option) {
    if (!(option instanceof HTMLElement)) return;
    field.value = "";
    open(false);
    choose(option.dataset["id"] ?? "");
  }

  field.addEventListener("input", () => open(field.value.trim() !== ""));
  field.addEventListener("blur", () => open(false));
  field.addEventListener("click", () => open(true));
  field.addEventListener("keydown", (event) => {
    const { length } = list.children;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (list.hidden) open(true);
      else activate((active + step + length) % length);
    } else if (event.key === "Enter") {
      // Enter must not send the form that the field is in.
      event.preventDefault();
      take(list.children[active]);
    } else if (event.key === "Escape") {
      open(false);
    }
  });
  // Not "click": the field must keep the focus, because losing it closes the list.
  list.addEventListener("mousedown", (event) => {
    event.preventDefault();
    take(/** @type {Element} */ (event.target).closest("[role=option]"));
  });
}
