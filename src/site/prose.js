/** Guide and methodology in the browser: the real address in the commands, and buttons to copy them. */
import { ROOT } from "./api.js";
import { markPlace } from "./contents.js";
import { equipCode } from "./copy.js";
import { withKey } from "./key.js";

const origin = ROOT.href.replace(/\/$/, "");
for (const place of document.querySelectorAll("[data-origin]")) place.textContent = origin;

equipCode();
markPlace(/** @type {HTMLElement} */ (document.querySelector(".contents")));
await withKey(() => {});
