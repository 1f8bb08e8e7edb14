// Updates the live part of the page, except while the reader selects, types or reads a chart.
//
// One EventSource carries hints: the ids of queues that changed. A hint makes htmx fetch the fragment of the page again.
// Without hints, the page asks every few seconds. The page fetches nothing in a hidden tab, while updates are paused, or
// while rows are selected, text is marked or a menu is open. The status in the sidebar names the reason.

import { isAwaited } from "./answers.js";

const DEBOUNCE = 300;
const EVERY_WITH_HINTS = 10_000; // ages grow without any change, and a hint may be lost
const EVERY_WITHOUT_HINTS = 3_000;
const STALE_AFTER = 1_000; // a page that is older when the hints begin may have missed a change
const MAX_ERRORS = 3;
const RETRY_AFTER = 3_000; // after a request without an answer
const PAUSED_KEY = "signalbox-updates-paused";

const root = document.documentElement;
const status = document.getElementById("live-status");
const button = document.getElementById("live-pause");
const region = () => document.querySelector("[data-live-queues]");

let source = null;
let errors = 0;
let refreshed = Date.now();
let failed = 0; // the time of the first request without an answer; 0 after an answer
let wanted = false;
let timer = null;
let pressed = false; // a mouse button is down: an update would change what the click is meant for
let paused = sessionStorage.getItem(PAUSED_KEY) === "yes";

// ---- reasons to wait

function reasonToWait() {
  const living = region();
  if (living.querySelector("input[data-pick]:checked")) return "rows selected";
  if (document.querySelector("details.menu[open], dialog[open]")) return "menu open";
  const marked = getSelection();
  if (marked && !marked.isCollapsed && living.contains(marked.anchorNode)) return "text marked";
  if (living.matches(":has(:is(input:not([data-pick]), textarea, select):focus)")) return "typing";
  if (living.querySelector(".plot svg:focus")) return "chart focused";
  return "";
}

// ---- the status in the sidebar

function showStatus() {
  const waiting = !paused && reasonToWait();
  const state = paused ? "paused" : waiting ? "held" : failed ? "away" : source ? "on" : "lost";
  const age = Math.floor((Date.now() - refreshed) / 1000);
  const since = age < 2 ? "now" : age < 90 ? `${age} s ago` : `${Math.floor(age / 60)} m ago`;
  const text = {
    on: `live · ${since}`,
    held: `paused (${waiting})`,
    paused: `paused · ${since}`,
    lost: `every 3 s · ${since}`,
    away: `no answer · ${since}`,
  }[state];
  if (root.dataset.live !== state) root.dataset.live = state;
  if (status.textContent !== text) status.textContent = text;
}

// ---- fetching

function refresh() {
  timer = null;
  if (document.hidden || paused || isAwaited() || pressed || reasonToWait()) return;
  wanted = false;
  window.htmx.trigger(region(), "live");
}

function want() {
  wanted = true;
  const every = Number(region().dataset.liveEvery || 1) * 1000;
  const now = Date.now();
  timer ??= setTimeout(refresh, Math.max(DEBOUNCE, every - (now - refreshed), RETRY_AFTER - (now - failed)));
}

function onTick() {
  showStatus();
  const age = Date.now() - refreshed;
  if (wanted || age > (source ? EVERY_WITH_HINTS : EVERY_WITHOUT_HINTS)) want();
}

// ---- no answer: the page asks again until there is one

function noAnswer() {
  failed = Date.now();
  wanted = true;
  showStatus();
}

function answered() {
  if (!failed) return;
  failed = 0;
  errors = 0;
  connect();
}

// ---- hints

function connect() {
  if (source || document.hidden || paused || !root.dataset.liveUrl) return;
  source = new EventSource(root.dataset.liveUrl);
  source.addEventListener("open", () => {
    errors = 0;
    if (Date.now() - refreshed > STALE_AFTER) want();
  });
  source.addEventListener("stat", (event) => {
    const mine = region().dataset.liveQueues;
    if (mine === "all" || event.data.split(",").includes(mine)) want();
  });
  source.addEventListener("error", () => {
    errors += 1;
    if (source.readyState === EventSource.CLOSED || errors >= MAX_ERRORS) disconnect();
  });
}

function disconnect() {
  source?.close();
  source = null;
}

function setPaused(value) {
  paused = value;
  sessionStorage.setItem(PAUSED_KEY, value ? "yes" : "no");
  button.textContent = value ? "Resume updates" : "Pause updates";
  button.setAttribute("aria-pressed", String(value));
  if (value) disconnect();
  else {
    errors = 0;
    connect();
    want();
  }
  showStatus();
}

// ---- the lamp, the favicon

function showBreaches() {
  const breaching = (document.querySelector("[data-lamp]")?.dataset.lamp ?? "0") !== "0";
  const icon = document.getElementById("favicon");
  const href = breaching ? icon.dataset.alert : icon.dataset.calm;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  document.querySelector(".sidebar .lamp.red")?.classList.toggle("lit", breaching);
  document.querySelector(".sidebar .lamp.green")?.classList.toggle("lit", !breaching);
}

if (region() && status) {
  button.hidden = false;
  button.addEventListener("click", () => setPaused(!paused));
  document.addEventListener("htmx:responseError", (event) => event.detail.xhr.status > 500 && noAnswer());
  document.addEventListener("htmx:sendError", noAnswer);
  document.addEventListener("htmx:afterSettle", () => {
    answered();
    refreshed = Date.now();
    showBreaches();
    showStatus();
  });
  // An error page does not belong into the live part.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400) event.detail.shouldSwap = false;
  });
  // A reason to wait may have begun while the request was pending.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.requestConfig.triggeringEvent?.type !== "live" || !(pressed || reasonToWait())) return;
    event.detail.shouldSwap = false;
    wanted = true;
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return disconnect();
    errors = 0;
    connect();
    want();
  });
  for (const happening of ["toggle", "change", "selectionchange", "focusin"]) {
    document.addEventListener(happening, showStatus, true);
  }
  // A press can end without an event, as in a menu of the browser. The next move of the pointer shows that it has ended.
  for (const happening of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
    document.addEventListener(happening, (event) => (pressed = event.buttons > 0), true);
  }
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && connect());
  if (paused) setPaused(true);
  else connect();
  setInterval(onTick, 1000);
  showStatus();
} else if (status) {
  status.hidden = true;
}
