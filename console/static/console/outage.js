// Says in place that the database or the console does not answer, and takes it back when one does: what is on the page
// stays, and is only older than it should be.

const notice = document.getElementById("outage");

function say(...parts) {
  if (notice.textContent === parts.map((part) => part.textContent ?? part).join("")) return; // not aloud again and again
  const line = document.createElement("p");
  line.className = "notice";
  line.dataset.tone = "bad";
  const words = document.createElement("span");
  words.append(...parts);
  line.append(words);
  notice.replaceChildren(line);
}

function bold(text) {
  const title = document.createElement("b");
  title.textContent = text;
  return title;
}

/** The console's own words, as text: an answer of a proxy's is none of them. */
function wordsOf(html) {
  const said = new DOMParser().parseFromString(html, "text/html").querySelector("[data-outage]");
  if (!said) return null;
  const title = said.querySelector("b")?.textContent ?? "";
  return [bold(title), said.textContent.replace(title, " ").replace(/\s+/g, " ").trimEnd()];
}

const meanwhile = " What you see is older than it should be; this page asks again by itself.";

if (notice) {
  document.addEventListener("htmx:afterRequest", (event) => {
    const { status, responseText } = event.detail.xhr;
    if (status >= 200 && status < 500) return notice.replaceChildren();
    if (status < 502) return; // an error of ours says nothing about the next request
    say(...(wordsOf(responseText) ?? [bold("The console does not answer.")]), meanwhile);
  });
  document.addEventListener("htmx:sendError", () => say(bold("The console does not answer."), meanwhile));
}
