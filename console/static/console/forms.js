// Keeps what people type: after a refused form, and on a live page whose session has ended.

// ---- a refused form: the errors get the focus. In the history, the page is replaced by the page that had the form,
// because the browser's Back would otherwise ask whether to send the form again.

const errors = document.getElementById("form-errors");

if (errors) {
  const cameFrom = document.referrer.startsWith(`${location.origin}/`) ? document.referrer : location.href;
  history.replaceState(history.state, "", cameFrom.split("#")[0]);
  errors.focus();
}

// ---- an ended session: a live page is reloaded and leads to the login. A page with typed text stays as it is: the
// login page keeps the form when it is sent.

const isTyped = (field) => field.form?.method === "post" && field.value !== field.defaultValue;
const hasTypedText = () => [...document.querySelectorAll("main :is(input, textarea)")].some(isTyped);

function sayEnded() {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.id = "session-ended";
  notice.dataset.tone = "warn";
  notice.setAttribute("role", "status");
  const words = document.createElement("span");
  words.textContent = "Your session has ended. Submit the form: it is kept while you log in again.";
  notice.append(words);
  document.getElementById("main").prepend(notice);
}

document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Refresh") !== "true" || !hasTypedText()) return;
  event.preventDefault();
  if (!document.getElementById("session-ended")) sayEnded();
});
