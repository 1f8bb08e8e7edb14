// Of answers that cross, the one that was asked for last is shown. htmx settles when it asks what an answer replaces:
// if another has replaced that by then, the list would stay as it is, and the address would follow nevertheless.

let newest = null;

/** Is a request pending? A second request would make htmx refuse the pending answer. */
export const isAwaited = () => newest?.readyState > XMLHttpRequest.UNSENT && newest.readyState < XMLHttpRequest.DONE;

function refuseOlder(event) {
  if (event.detail.xhr !== newest) event.detail.shouldSwap = false;
}

document.addEventListener("htmx:beforeSend", (event) => {
  newest = event.detail.xhr;
  event.detail.target.addEventListener("htmx:beforeSwap", refuseOlder); // a target that is gone gets no other event
});
