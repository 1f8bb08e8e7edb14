// Removes notices that were read: by their button, and with a later update of the page. A notice tells what was done;
// the page itself shows what is so now.

import { heading } from "./focus.js";

const OLD_AFTER = 10_000;
const STILL_AFTER = 2_000; // nothing moves under a pointer that moves

const box = document.getElementById("notices");
const shown = Date.now();
let moved = 0;

function remove(notice) {
  const hadFocus = notice.contains(document.activeElement);
  notice.remove();
  if (!box.children.length) box.replaceChildren(); // an empty box takes no room
  if (hadFocus) heading(document.getElementById("main"))?.focus();
}

function addButton(notice) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "dismiss";
  button.textContent = "Dismiss";
  button.addEventListener("click", () => remove(notice));
  notice.append(button);
}

if (box) {
  for (const notice of box.children) addButton(notice);
  addEventListener("pointermove", () => (moved = Date.now()), { passive: true });
  document.addEventListener("htmx:afterSettle", () => {
    if (Date.now() - shown < OLD_AFTER || Date.now() - moved < STILL_AFTER) return;
    for (const notice of box.querySelectorAll("[data-tone=ok]:not(:focus-within)")) remove(notice);
  });
}
