// The filter bar: shows the keys one can ask for, puts them in, and takes a mistake's underline away once edited.

for (const form of document.querySelectorAll("form.filter")) {
  const input = form.querySelector("input[name=q]");
  const keys = form.querySelector(".filter-keys");

  input.addEventListener("input", () => form.classList.add("edited"));
  input.addEventListener("scroll", () => {
    const mirror = form.querySelector(".mirror");
    if (mirror) mirror.scrollLeft = input.scrollLeft;
  });
  if (!keys) continue;

  keys.classList.add("ready");
  keys.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus in the field
  keys.addEventListener("click", (event) => {
    const text = event.target.closest("button")?.dataset.insert;
    if (!text) return;
    const before = input.value.slice(0, input.selectionStart).trimEnd();
    const after = input.value.slice(input.selectionEnd).trimStart();
    const head = before ? `${before} ${text}` : text;
    input.value = after ? `${head} ${after}` : head;
    input.focus();
    input.setSelectionRange(head.length, head.length);
    form.classList.add("edited");
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // a search field would clear itself
    input.blur();
  });
}
