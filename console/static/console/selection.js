// Selects rows of a list: one box selects all rows, and the bar below the list counts the selected rows.

function update() {
  const boxes = [...document.querySelectorAll("input[data-pick]")];
  if (!boxes.length) return;
  const picked = boxes.filter((box) => box.checked);
  for (const box of boxes) box.closest("tr").classList.toggle("picked", box.checked);

  const all = document.querySelector("input[data-pick-all]");
  if (all) {
    all.closest(".pick-all").hidden = false;
    all.checked = picked.length === boxes.length;
    all.indeterminate = picked.length > 0 && !all.checked;
  }
  for (const element of document.querySelectorAll("[data-when-picked]")) {
    element.hidden = (element.dataset.whenPicked === "some") !== picked.length > 0;
  }
  for (const element of document.querySelectorAll("[data-picked-count]")) element.textContent = String(picked.length);
}

document.addEventListener("change", (event) => {
  if (event.target.matches("input[data-pick-all]")) {
    for (const box of document.querySelectorAll("input[data-pick]")) box.checked = event.target.checked;
  }
  if (event.target.matches("input[data-pick], input[data-pick-all]")) update();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-unpick]")) return;
  for (const box of document.querySelectorAll("input[data-pick]")) box.checked = false;
  update();
});
document.addEventListener("htmx:afterSwap", update);

update();
