// Keeps the focus while a part of the page changes. Where the focused thing is gone, the focus goes to its neighbour, and
// never back to the top of the page.

import { rowsOf, leadOf } from "../keyboard/rows.js";
import { purpose, words } from "./morph.js";

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
const HEADINGS = "h1, h2, h3";

/** Change `part` by `change`, and leave the focus on the same thing or on its neighbour. */
export function keepFocus(part, change) {
  const place = part.contains(document.activeElement) ? placeOf(document.activeElement, part) : null;
  change();
  if (place && document.activeElement !== place.element) (again(place, part) ?? heading(part))?.focus();
}

function placeOf(element, part) {
  return {
    element,
    id: element.id,
    kind: element.nodeName,
    purpose: purpose(element),
    words: words(element),
    row: rowsOf(part).findIndex((row) => row.contains(element)),
  };
}

/** The focused thing in its new form, or the row that took the place of its row. */
function again(place, part) {
  if (place.element.isConnected && isVisible(place.element)) return place.element;
  const alike = [...part.querySelectorAll(FOCUSABLE)].filter((one) => one.nodeName === place.kind && isVisible(one));
  const sameWords = alike.filter((one) => words(one) === place.words);
  return (
    alike.find((one) => place.id && one.id === place.id) ??
    sameWords.find((one) => purpose(one) === place.purpose) ??
    (sameWords.length === 1 && place.row < 0 ? sameWords[0] : neighbour(place.row, part))
  );
}

/** The lead of the row at the same place: it only leads somewhere, and does nothing to a row that no person chose. */
function neighbour(index, part) {
  const rows = rowsOf(part);
  return index < 0 || !rows.length ? null : ready(leadOf(rows[Math.min(index, rows.length - 1)]));
}

const isVisible = (element) => element.checkVisibility() && !element.disabled;

/** The heading of a part of the page, able to take the focus. */
export function heading(part) {
  return ready(part.matches(HEADINGS) ? part : (part.querySelector(HEADINGS) ?? document.querySelector("main h1")));
}

/** Make an element able to take the focus from a script, though not by Tab. */
export function ready(element) {
  if (element && element.tabIndex < 0) element.tabIndex = -1;
  return element;
}

// ---- arriving

/** After a link to a field: the field; to another part: its heading. After a refused form: the summary of errors. */
function arrive() {
  const named = document.querySelector(":target");
  if (named?.matches("input, select, textarea")) return named.focus();
  if (named && named.id !== "main") return heading(named)?.focus();
  const mistake = document.querySelector(".form-errors, .field [aria-invalid=true], main [aria-invalid=true]");
  if (mistake) ready(mistake).focus();
}

addEventListener("hashchange", arrive);
addEventListener("load", () => setTimeout(arrive)); // the browser itself goes to the named part until then
