// Runs the shortcuts that the help lists. People whose software types for them can turn the single keys off.

import { ready } from "../live/focus.js";
import { openPalette } from "./palette.js";
import { leadOf, rowsOf } from "./rows.js";

const SEQUENCE_WITHIN = 1_500; // the second key of a sequence
const CONTROLS_WITHOUT_TEXT = "[type=checkbox], [type=radio], [type=submit], [type=button]";

const root = document.documentElement;
const main = document.getElementById("main");
const dialog = document.getElementById("shortcuts");
const bindings = new Map([...dialog.querySelectorAll("[data-keys]")].map((help) => [help.dataset.keys, help]));

const isTyping = (target) =>
  target.closest?.("input, textarea, select, [contenteditable]") && !target.matches(CONTROLS_WITHOUT_TEXT);

// ---- actions, by the names that console/web/shortcuts.py uses

const currentRow = () => rowsOf(main).find((row) => row.contains(document.activeElement));

function moveRow(step) {
  const rows = rowsOf(main);
  const here = rows.indexOf(currentRow());
  const wanted = (here >= 0 ? here : placeAmong(rows, step)) + step;
  const row = rows[Math.min(Math.max(wanted, 0), rows.length - 1)];
  if (row) ready(leadOf(row)).focus();
}

/** Where the focus stands among the rows if it is in none: behind the row before it, or before the row after it. */
function placeAmong(rows, step) {
  const isBehindFocus = (row) =>
    document.activeElement.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
  const before = rows.filter((row) => !isBehindFocus(row)).length;
  return step > 0 ? before - 1 : before;
}

/** Follow the main link of the row, or of the page. A button changes something: it only gets the focus. */
function act() {
  const row = currentRow();
  const box = row?.querySelector("input[data-pick]");
  if (box && !box.checked) box.click();
  const verb = row && !box ? verbOfRow(row) : verbOfPage();
  if (verb?.matches("a[href]")) verb.click();
  else if (verb) ready(verb).focus();
}

const firstShown = (elements) => [...elements].find((element) => element.checkVisibility());
const verbOfRow = (row) => row.querySelector("[data-act]") ?? row.querySelector(".button, button");

/** The main button of the page; in its form, the first required field that is empty. */
function verbOfPage() {
  const button = firstShown(main.querySelectorAll(".primary"));
  return firstShown(button?.form?.querySelectorAll(":required:invalid") ?? []) ?? button;
}

const ACTIONS = {
  search: openPalette,
  filter: () => document.querySelector("form.filter input[name=q]")?.select(),
  act,
  pause: () => document.getElementById("live-pause")?.click(),
  zone: () => document.querySelector("button[name=zone][aria-pressed=false]")?.click(),
  help: () => dialog.showModal(),
  next: () => moveRow(1),
  previous: () => moveRow(-1),
  select: () => currentRow()?.querySelector("input[data-pick]")?.click(),
  nextPage: () => main.querySelector("a[rel=next]")?.click(),
  previousPage: () => main.querySelector("a[rel=prev]")?.click(),
  go: (help) => help.querySelector("a").click(),
};

// ---- keys

let begun = ""; // the first key of a sequence
let forget = null;

const isMac = /Mac/.test(navigator.platform);
const chordOf = ({ key, ctrlKey, metaKey }) => {
  if (isMac ? metaKey : ctrlKey) return `Ctrl+${key.toUpperCase()}`;
  return ctrlKey || metaKey ? "" : key;
};

/** The help of the shortcut that this key completes, if it completes one. */
function completed(chord) {
  const sequence = begun ? `${begun} ${chord}` : chord;
  clearTimeout(forget);
  begun = "";
  if ([...bindings.keys()].some((keys) => keys.startsWith(`${sequence} `))) {
    begun = sequence;
    forget = setTimeout(() => (begun = ""), SEQUENCE_WITHIN);
  }
  return bindings.get(sequence);
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const chord = chordOf(event);
  const isOneKey = !chord.startsWith("Ctrl+");
  if (isOneKey && (root.dataset.shortcuts !== "on" || isTyping(event.target))) return;
  if (["Shift", "Control", "Meta"].includes(event.key)) return;
  const help = completed(chord);
  const action = help && ACTIONS[help.dataset.action];
  if (!action) return;
  event.preventDefault();
  action(help);
});

// ---- the help

for (const key of isMac ? document.querySelectorAll("kbd") : []) {
  key.textContent = key.textContent.replace(/^Ctrl[+ ]/, "⌘");
}

for (const opener of document.querySelectorAll("[data-opens=shortcuts]")) {
  opener.hidden = false;
  opener.addEventListener("click", () => dialog.showModal());
}

const mark = document.querySelector("form.filter kbd");
if (mark) mark.hidden = root.dataset.shortcuts !== "on";
