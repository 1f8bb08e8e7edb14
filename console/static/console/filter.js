// The filter bar: shows the keys of filters, inserts a clicked key, and underlines a mistake in the text.

const form = document.querySelector("form.filter");

if (form) {
  const input = form.querySelector("input[name=q]");
  const keys = form.querySelector(".filter-keys");

  input.addEventListener("input", () => form.classList.add("edited"));
  input.addEventListener("scroll", followText);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // a search field would clear itself
    input.blur();
  });
  // The field's own cross empties it: then show everything again. Enter submits by itself.
  input.addEventListener("search", () => input.value || form.requestSubmit());
  document.addEventListener("htmx:afterSettle", () => {
    form.classList.remove("edited");
    underline();
  });

  keys.classList.add("ready");
  keys.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the field
  keys.addEventListener("click", (event) => {
    const text = event.target.closest("button")?.dataset.insert;
    if (text) put(text);
  });

  function put(text) {
    const before = input.value.slice(0, input.selectionStart).trimEnd();
    const after = input.value.slice(input.selectionEnd).trimStart();
    const head = before ? `${before} ${text}` : text;
    input.value = after ? `${head} ${after}` : head;
    input.focus();
    input.setSelectionRange(head.length, head.length);
    form.classList.add("edited");
  }

  function underline() {
    form.querySelector(".mirror")?.remove();
    const mistake = document.getElementById("q-mistake");
    input.toggleAttribute("aria-invalid", false);
    if (!mistake) return;
    const start = Number(mistake.dataset.position);
    const end = start + Number(mistake.dataset.length);
    const characters = [...input.value]; // as the server counts them
    const part = (from, to) => characters.slice(from, to).join("");
    const mirror = document.createElement("div");
    const mark = document.createElement("mark");
    mirror.className = "mirror";
    mirror.setAttribute("aria-hidden", "true");
    mark.textContent = part(start, end);
    mirror.append(part(0, start), mark, part(end));
    input.before(mirror);
    input.setAttribute("aria-invalid", "true");
    followText();
  }

  function followText() {
    const mirror = form.querySelector(".mirror");
    if (mirror) mirror.scrollLeft = input.scrollLeft;
  }
}
