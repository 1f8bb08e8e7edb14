"""Live updates on demand: a page shows recorded answers of the server by turns, as fast as it can."""

from __future__ import annotations

import math

from playwright.sync_api import Page

SECONDS = 30
"""The time of live updates that a test stands for; it ends where the same states would follow again."""
PAUSE = 'sessionStorage.setItem("signalbox-updates-paused", "yes")'

# A request for a live update is answered within the page: by turns, in the time of a task. All else goes its way.
PLAYER = """
window.playing = [];
const { open, send, setRequestHeader } = XMLHttpRequest.prototype;
Object.assign(XMLHttpRequest.prototype, {
  open(method, address, ...more) {
    this.address = new URL(address, location.href).href;
    return open.call(this, method, address, ...more);
  },
  setRequestHeader(name, value) {
    this.isOfHtmx ||= name.toLowerCase() === "hx-request";
    return setRequestHeader.call(this, name, value);
  },
  send(body) {
    if (!this.isOfHtmx || !playing.length) return send.call(this, body);
    const answer = playing.shift();
    playing.push(answer);
    const given = { readyState: 4, status: 200, response: answer, responseText: answer, responseURL: this.address };
    for (const [name, value] of Object.entries(given)) Object.defineProperty(this, name, { value });
    this.getAllResponseHeaders = () => "content-type: text/html\\r\\n";
    this.getResponseHeader = (name) => (name.toLowerCase() === "content-type" ? "text/html" : null);
    scheduler.postTask(() => this.onload());
  },
});
"""

# What a person may focus in the live parts of a page, and how a person would tell it from others.
TOOLS = """
window.live = () => document.querySelector("[data-live-queues]");
window.focusables = (part) => [...document.querySelectorAll(part)]
  .flatMap((one) => [...one.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")])
  .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0);
window.nameOf = (one) => one === document.body ? "body" :
  `${one.localName} ${one.id || one.getAttribute("href") || one.name || ""} ${one.textContent}`
    .replace(/[\\d.,\\s]+/g, " ");
window.update = () => new Promise((resolve) => {
  document.addEventListener("htmx:afterRequest", () => scheduler.postTask(resolve), { once: true });
  htmx.config.defaultSettleDelay = 0; // each has settled before the next
  htmx.trigger(live(), "live");
});
window.state = () => nameOf(document.activeElement) + live().outerHTML.replace(/\\d+/g, "");
window.keepsFocus = async (part, index, updates) => {
  const focused = focusables(part)[index];
  const words = nameOf(focused);
  focused.focus();
  let isThere = true; // in every answer: what was gone for a moment may lose the focus
  const seen = new Set([state()]);
  for (let number = 1; number <= updates; number += 1) {
    await update();
    isThere &&= focusables(part).some((one) => nameOf(one) === words);
    if (number % 2) continue; // of two answers by turns, the first is shown after an even number
    const now = state();
    if (seen.has(now)) break; // from the same state, the same answers lead to the same states
    seen.add(now);
  }
  const now = nameOf(document.activeElement);
  return now === (isThere ? words : now) && now !== "body" ? "" : `${words} -> ${now}`;
};
"""


class LiveAnswers:
    """Answers that a page gets for its live updates: recorded ones by turns."""

    def __init__(self, page: Page) -> None:
        self._page = page
        for script in (PAUSE, PLAYER, TOOLS):
            page.add_init_script(script)

    def record(self) -> str:
        """Fetch what the server answers to a live update now."""
        path = self._page.evaluate("live().getAttribute('hx-get')")
        return self._page.request.get(path, headers={"HX-Request": "true"}, max_retries=2).text()

    def play(self, *answers: str) -> None:
        """Answer from now on with these by turns, until the page is left; without any, let the server answer."""
        self._page.evaluate("answers => { window.playing = answers; }", list(answers))


def updates_in_time(page: Page) -> int:
    """Count the updates that the page gets in SECONDS; even, so that the first of two answers is the last shown."""
    every = float(page.evaluate("live().dataset.liveEvery || 1"))
    return 2 * math.ceil(SECONDS / every / 2)


def focus_lost(page: Page, part: str, updates: int) -> list[str]:
    """Focus every focusable thing of a part in turn, and list those that lose the focus."""
    count = page.evaluate("part => focusables(part).length", part)
    found = [
        page.evaluate("([part, index, updates]) => keepsFocus(part, index, updates)", [part, index, updates])
        for index in range(count)
    ]
    return [one for one in found if one]
