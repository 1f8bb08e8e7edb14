// Suggestions for the filter field: a listbox below it, after the combobox pattern of WAI-ARIA. The field keeps the
// focus. The arrow keys choose a suggestion, Enter or Tab takes the chosen one, Escape closes the list. Without a chosen
// suggestion Enter submits the filter and Tab leaves the field.

const input = document.querySelector("form.filter input[data-suggest-url]");
const DEBOUNCE = 150;

if (input) {
  const form = input.form;
  const list = document.createElement("ul");
  let timer = null;
  let request = null;
  let asked = 0; // how many characters there were when the options were asked for

  list.id = "q-options";
  list.className = "options";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  input.closest(".filter-line").append(list);
  input.type = "text"; // the role of a search field cannot be a combobox
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": list.id,
  })) {
    input.setAttribute(name, value);
  }

  const options = () => [...list.children];
  const active = () => list.querySelector("[aria-selected=true]");

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, DEBOUNCE);
  });
  input.addEventListener("blur", close);
  form.addEventListener("submit", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the field
  list.addEventListener("click", (event) => take(event.target.closest("[role=option]")));
  // Before the field's own Escape, which leaves it: the first one closes the list.
  input.addEventListener("keydown", onKey, { capture: true });

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) ask();
      else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopImmediatePropagation();
      close();
    } else if (takes(event) && active()) {
      event.preventDefault();
      take(active());
    } else if (event.key === "Enter" || event.key === "Tab") {
      close();
    }
  }

  function takes(event) {
    return event.key === "Enter" || (event.key === "Tab" && !event.shiftKey);
  }

  async function ask() {
    clearTimeout(timer);
    request?.abort();
    const mine = (request = new AbortController());
    const length = [...input.value].length;
    const url = new URL(input.dataset.suggestUrl, location.href);
    url.searchParams.set("q", input.value);
    url.searchParams.set("at", [...input.value.slice(0, input.selectionStart)].length); // characters, not units
    try {
      const answer = await fetch(url, { signal: mine.signal, headers: { "X-Requested-With": "fetch" } });
      if (!answer.ok || answer.redirected) return close();
      const html = await answer.text();
      if (mine.signal.aborted) return;
      asked = length;
      show(html);
    } catch {
      if (!mine.signal.aborted) close(); // no suggestions are no loss
    }
  }

  function show(html) {
    const chosen = active()?.dataset.insert;
    list.replaceChildren(...new DOMParser().parseFromString(`<ul>${html}</ul>`, "text/html").querySelectorAll("li"));
    const some = list.children.length > 0 && document.activeElement === input;
    list.hidden = !some;
    form.classList.toggle("suggesting", some);
    input.setAttribute("aria-expanded", String(some));
    input.removeAttribute("aria-activedescendant");
    const again = some && options().find((option) => option.dataset.insert === chosen);
    if (again) choose(again);
  }

  function move(step) {
    const all = options();
    const here = all.indexOf(active());
    choose(all[(here === -1 && step < 0 ? all.length - 1 : here + step + all.length) % all.length]);
  }

  function choose(option) {
    active()?.setAttribute("aria-selected", "false");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  function take(option) {
    if (!option) return;
    const characters = [...input.value];
    const head = characters.slice(0, Number(option.dataset.start)).join("") + option.dataset.insert;
    const behind = asked - Number(option.dataset.end); // what was typed since belongs to what is replaced
    input.value = head + characters.slice(characters.length - behind).join("");
    input.setSelectionRange(head.length, head.length);
    form.classList.add("edited");
    close();
    if ("goesOn" in option.dataset) ask();
  }

  function close() {
    clearTimeout(timer);
    request?.abort();
    list.hidden = true;
    list.replaceChildren();
    form.classList.remove("suggesting");
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }
}

// The form that saves a filter takes the text from the bar when it is opened.
const saved = document.querySelector("details.saved-menu");
saved?.addEventListener("toggle", () => {
  if (!saved.open) return;
  const typed = document.querySelector("form.filter input[name=q]").value.trim();
  if (typed) saved.querySelector("input[name=text]").value = typed;
});
