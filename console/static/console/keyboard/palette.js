// The palette: a dialog with a search field and a list of results, after the combobox pattern of WAI-ARIA. The field
// keeps the focus. The arrow keys select, Enter opens, Escape closes. Without this module, the link opens a page.

const DEBOUNCE = 120;

const dialog = document.getElementById("palette");
const input = dialog?.querySelector("input");
const list = document.getElementById("palette-options");
const status = document.getElementById("palette-status");

let timer = null;
let request = null;
let opensFirst = false; // Enter was pressed before the results were there

const options = () => [...list.querySelectorAll("[role=option]")];
const selected = () => list.querySelector("[aria-selected=true]");

export function openPalette() {
  if (!dialog) return;
  dialog.showModal();
  input.select();
  ask();
}

function askSoon() {
  clearTimeout(timer);
  request?.abort();
  request = new AbortController();
  timer = setTimeout(ask, DEBOUNCE);
}

async function ask() {
  clearTimeout(timer);
  request?.abort();
  const mine = (request = new AbortController());
  const url = new URL(input.form.action);
  url.searchParams.set("q", input.value);
  try {
    const answer = await fetch(url, { signal: mine.signal, headers: { "HX-Request": "true" } });
    const html = await answer.text();
    if (!mine.signal.aborted) show(answer.ok && !answer.redirected ? html : "");
  } catch {
    if (!mine.signal.aborted) show("");
  }
}

function show(html) {
  request = null;
  const results = new DOMParser().parseFromString(html, "text/html").querySelector("[data-summary]");
  list.replaceChildren(...(results?.children ?? []));
  status.textContent = results?.dataset.summary ?? "The search does not answer. Try again.";
  select(options()[0]);
  if (opensFirst) selected()?.click();
  opensFirst = false;
}

function select(option) {
  selected()?.setAttribute("aria-selected", "false");
  input.setAttribute("aria-expanded", String(Boolean(option)));
  if (!option) return input.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  option.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", option.id);
}

function move(step) {
  const all = options();
  select(all[(all.indexOf(selected()) + step + all.length) % all.length]);
}

function onKey(event) {
  if (event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Enter") {
    event.preventDefault();
    if (request) opensFirst = true;
    else selected()?.click();
  }
}

if (dialog) {
  input.addEventListener("input", askSoon);
  input.addEventListener("keydown", onKey);
  dialog.addEventListener("close", () => (opensFirst = false));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside the dialog
  for (const link of document.querySelectorAll("[data-opens=palette]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // another tab or window
      event.preventDefault();
      openPalette();
    });
  }
}
