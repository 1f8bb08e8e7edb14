// Applies a preference to the page at once. The server stores it in a cookie for the next page.

import { tellAllTimes } from "./times.js";

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-preference]");
  if (!form || !event.submitter) return;
  event.preventDefault();
  const { name, value } = event.submitter;
  document.documentElement.dataset[name] = value;
  for (const button of form.querySelectorAll("button[aria-pressed]")) {
    button.setAttribute("aria-pressed", String(button === event.submitter));
  }
  if (name === "zone") tellAllTimes();
  if (name === "shortcuts") {
    const mark = document.querySelector("form.filter kbd");
    if (mark) mark.hidden = value !== "on";
  }
  const body = new FormData(form);
  body.set(name, value);
  // Kept alive: the person may leave the page before the answer.
  await fetch(form.action, { method: "POST", body, headers: { "HX-Request": "true" }, keepalive: true });
});
