// Shows the answer to the newest request only. An older answer that arrives later would show a list that does not fit
// the address.

let newest = null;

/** Is a request pending? A second request would make htmx refuse the pending answer. */
export const isAwaited = () => newest?.readyState > XMLHttpRequest.UNSENT && newest.readyState < XMLHttpRequest.DONE;

document.addEventListener("htmx:beforeSend", (event) => {
  newest = event.detail.xhr;
});
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr !== newest) event.detail.shouldSwap = false;
});
