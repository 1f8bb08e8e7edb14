// Shortcuts of one key. They can be turned off, for people whose software types for them.

const root = document.documentElement;
const dialog = document.getElementById("shortcuts");
const typing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

const goTo = (name) => document.querySelector(`[data-goto="${name}"]`)?.click();

function moveRow(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const here = rows.findIndex((row) => row.closest("tr").contains(document.activeElement));
  rows[Math.min(Math.max(here + step, 0), rows.length - 1)]?.focus();
}

const KEYS = {
  "/": () => document.querySelector("form.filter input[name=q]")?.select(),
  "?": () => dialog.showModal(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement.closest("tr")?.querySelector("input[data-pick]")?.click(),
  p: () => document.getElementById("live-pause")?.click(),
  o: () => goTo("overview"),
  d: () => goTo("dead_letters"),
  r: () => goTo("redrives"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (root.dataset.shortcuts !== "on" || typing(event.target) || document.querySelector("dialog[open]")) return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-opens=shortcuts]")) dialog.showModal();
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

const mark = document.querySelector("form.filter kbd");
if (mark) mark.hidden = root.dataset.shortcuts !== "on";
