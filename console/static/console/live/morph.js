// Changes one part of the page into its newer version. An element that stands for the same thing before and after
// stays the same element: it keeps the focus, the caret, its scroll position, and the place of a screen reader.

const THINGS = "tr, li, article"; // one of several: known by what it leads to
const CONTROLS = "a, button, input, select, textarea";

/** Make `old` equal to `fresh`, an element of the same kind. */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh) || isSameTime(old, fresh)) return;
  copyAttributes(old, fresh);
  morphChildren(old, fresh);
}

/** A time that the page counts on by itself: the server wrote it in other words. */
const isSameTime = (old, fresh) => old.matches("time[data-time]") && old.dateTime === fresh.dateTime;

// ---- attributes

/** Attributes that belong to the reader: which details are open, and what may take the focus. */
const isKept = (element, name) => name === "tabindex" || (name === "open" && element.matches("details, dialog"));

function copyAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !isKept(old, name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isKept(old, name)) old.removeAttribute(name);
  }
}

// ---- children

function morphChildren(old, fresh) {
  const counterparts = pair([...old.childNodes], [...fresh.childNodes]);
  let next = old.firstChild; // everything before it is done
  for (const child of [...fresh.childNodes]) {
    const kept = counterparts.get(child);
    if (!kept) old.insertBefore(document.importNode(child, true), next);
    else if (kept === next || kept.contains(document.activeElement)) next = bringForward(old, next, kept).nextSibling;
    else old.insertBefore(kept, next);
    if (kept) update(kept, child);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

/** Move what stands between `next` and `kept` behind all others: `kept` itself would lose the focus if it moved. */
function bringForward(parent, next, kept) {
  while (next !== kept) {
    const moved = next;
    next = next.nextSibling;
    parent.append(moved);
  }
  return kept;
}

function update(kept, child) {
  if (kept.nodeType === Node.ELEMENT_NODE) morph(kept, child);
  else if (kept.nodeValue !== child.nodeValue) kept.nodeValue = child.nodeValue;
}

/** Find for each new node the old one that stands for the same thing, in the order in which they stand. */
function pair(olds, news) {
  const known = Map.groupBy(olds, identity);
  return new Map(news.map((child) => [child, known.get(identity(child))?.shift()]));
}

/** What a node stands for among its siblings, as text. */
function identity(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  return `${node.nodeName}${node.id ? `#${node.id}` : ` ${subject(node)}`}`;
}

function subject(element) {
  if (element.matches(THINGS)) return leadsTo(element);
  if (element.matches(CONTROLS)) return purpose(element);
  if (element.matches("form")) return element.getAttribute("action") ?? "";
  if (element.matches("details")) return words(element.querySelector("summary"));
  return element.getAttribute("class")?.split(" ")[0] ?? "";
}

function leadsTo(thing) {
  const first = thing.querySelector("[id]") ?? thing.querySelector("[data-row]") ?? thing.querySelector("a[href]");
  return first ? first.id || purpose(first) : "";
}

/** What a control is for: its address or its name, or else its words. */
export function purpose(control) {
  const of = (name) => control.getAttribute(name);
  if (["prev", "next"].includes(of("rel"))) return of("rel"); // its address changes with the list
  return of("href") ?? of("formaction") ?? (of("name") ? `${of("name")}=${of("value")}` : words(control));
}

/** The words of an element without its numbers, which change. */
export const words = (element) => (element?.textContent ?? "").replace(/[\d.,\s]+/g, " ").trim();
