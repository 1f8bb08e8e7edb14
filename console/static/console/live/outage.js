// Shows a notice while the database or the console does not answer, and removes it with the next answer. The page keeps
// what it shows.

const notice = document.getElementById("outage");

function say(...parts) {
  if (notice.textContent === parts.map((part) => part.textContent ?? part).join("")) return; // a screen reader would repeat it
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

/** The console's own explanation of the outage, as text; null where a proxy answered. */
function explanationIn(html) {
  const said = new DOMParser().parseFromString(html, "text/html").querySelector("[data-outage]");
  if (!said) return null;
  const title = said.querySelector("b")?.textContent ?? "";
  return [bold(title), said.textContent.replace(title, " ").replace(/\s+/g, " ").trimEnd()];
}

const whatToDo = " This page shows the last known state and tries again by itself.";

if (notice) {
  document.addEventListener("htmx:afterRequest", (event) => {
    const { status, responseText } = event.detail.xhr;
    if (status >= 200 && status < 500) return notice.replaceChildren();
    if (status < 502) return; // an error in one view says nothing about the next request
    say(...(explanationIn(responseText) ?? [bold("The console does not answer.")]), whatToDo);
  });
  document.addEventListener("htmx:sendError", () => say(bold("The console does not answer."), whatToDo));
}
