// Copying with one click: an id, an address, or the text of another element. The buttons are hidden without this module.

const SHOWN_MILLISECONDS = 2000;

function textOf(button) {
  const { copy, copyUrl, copyFrom } = button.dataset;
  if (copyUrl) return new URL(copyUrl, window.location.href).href;
  if (copyFrom) return document.getElementById(copyFrom)?.textContent ?? "";
  return copy ?? "";
}

// Browsers offer the clipboard to pages over HTTPS or on this machine only; elsewhere a selection is copied.
function copySelection(text) {
  const box = document.createElement("textarea");
  box.value = text;
  box.className = "sr";
  document.body.append(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  return copied;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  event.preventDefault();
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  const copied = await copy(textOf(button));
  button.focus();
  button.textContent = copied ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = label), SHOWN_MILLISECONDS);
});

document.documentElement.classList.add("can-copy");
