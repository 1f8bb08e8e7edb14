// After a refused form: shows the errors, and replaces the page in the history by its address. Otherwise the browser's
// Back would ask whether to send the form again.

const errors = document.getElementById("form-errors");

if (errors) {
  history.replaceState(history.state, "", location.pathname + location.search);
  errors.focus();
}
