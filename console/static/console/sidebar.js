// Keeps the sidebar as the reader left it: open groups stay open, and strips show their current entry.

async function remember(group) {
  const form = document.querySelector("form[data-preference]");
  if (!form) return;
  const body = new FormData(form);
  body.set(group.dataset.fold, group.open ? "open" : "closed");
  await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" } });
}

for (const summary of document.querySelectorAll("[data-fold] > summary")) {
  const group = summary.parentElement;
  summary.addEventListener("click", () => group.addEventListener("toggle", () => remember(group), { once: true }));
}

// For browsers that do not know scroll-initial-target.
if (!CSS.supports("scroll-initial-target", "nearest")) {
  for (const current of document.querySelectorAll(".nav [aria-current=page], .tabs [aria-current=page]")) {
    const strip = current.closest(".nav, .tabs");
    strip.scrollLeft = current.offsetLeft - (strip.clientWidth - current.offsetWidth) / 2;
  }
}

for (const opener of document.querySelectorAll("[data-opens]")) opener.hidden = false;
