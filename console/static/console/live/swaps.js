// Shows each answer of the server as a change of what is on the page. htmx itself would replace the whole part, and the
// focus, the caret and the reader's place would go with it.

import { heading, keepFocus } from "./focus.js";
import { morph } from "./morph.js";

// htmx swaps nothing itself, and keeps all else: the address, the scrolling, the parts beside the target.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { requestConfig } = event.detail;
  event.detail.swapOverride = (requestConfig.elt.getAttribute("hx-swap") ?? "").replace("outerHTML", "none");
});

document.addEventListener("htmx:afterSwap", (event) => {
  const { target, xhr, requestConfig } = event.detail;
  const fresh = new DOMParser().parseFromString(xhr.response, "text/html").getElementById(target.id);
  if (!fresh) return location.reload(); // another page than the one that was asked for
  keepFocus(target, () => morph(target, fresh));
  window.htmx.process(target);
  // Another page of a list is read from its beginning.
  if (requestConfig.elt.getAttribute("hx-swap")?.includes("show:window:top")) heading(target)?.focus();
});

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  event.detail.shouldSwap = false;
  keepFocus(target, () => morph(target, fragment.firstElementChild));
});
