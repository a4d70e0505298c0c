/** A search field with a list of its results, which the keyboard works (the combobox pattern of ARIA). */
import { counted } from "./text.js";

/** How many choices a list shows. */
const MOST = 50;

/**
 * The choices whose text holds every word; `count` says how many there are.
 *
 * @template {{ text: string }} Choice
 * @param {string} wanted
 * @param {readonly Choice[]} choices
 * @param {string} noun of one
 * @param {HTMLElement} count
 */
export function choicesWith(wanted, choices, noun, count) {
  const words = wanted.toLowerCase().split(/\s+/);
  const found = choices.filter(({ text }) =>
    words.every((word) => text.toLowerCase().includes(word)),
  );
  const shown = found.length > MOST ? `, ${MOST} shown` : "";
  count.textContent = `${counted(found.length, noun)} found${shown}`;
  return found.slice(0, MOST);
}

/**
 * Arrow keys go through the list, Enter and a click choose, Escape closes. The field is emptied after
 * each choice, and keeps the focus.
 *
 * @param {HTMLInputElement} field
 * @param {HTMLElement} list
 * @param {(wanted: string) => readonly { id: string, html: string }[]} find what the list shows for what the
 *   field holds
 * @param {(id: string) => void} choose
 */
export function makePicker(field, list, find, choose) {
  let active = 0;

  /** @param {boolean} isOpen */
  function open(isOpen) {
    const choices = isOpen ? find(field.value.trim()) : [];
    const options = choices.map(
      ({ id, html }, at) => `<li role="option" id="${list.id}-${at}" data-id="${id}">${html}</li>`,
    );
    list.innerHTML = options.join("");
    list.hidden = choices.length === 0;
    field.ariaExpanded = String(!list.hidden);
    activate(0);
  }

  /** @param {number} at */
  function activate(at) {
    active = at;
    const options = [...list.children];
    for (const option of options) option.ariaSelected = String(option === options[at]);
    options[at]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", options[at]?.id ?? "");
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
    if (event.key === "Escape") open(false);
    // Enter must not send the form that the field is in.
    if (step !== undefined || event.key === "Enter") event.preventDefault();
    if (event.key === "Enter") take(list.children[active]);
    else if (step !== undefined && length === 0) open(true);
    else if (step !== undefined) activate((active + step + length) % length);
  });
  // Not "click": the field must keep the focus, because losing it closes the list.
  list.addEventListener("mousedown", (event) => {
    event.preventDefault();
    take(/** @type {Element} */ (event.target).closest("[role=option]"));
  });
}
