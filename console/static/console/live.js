// Keeps the live part of the page fresh, except while the reader selects, types or reads a chart.
//
// One EventSource carries hints: which queues changed. A hint makes htmx fetch the page's fragment again. When no hint
// can be had, the page asks every few seconds. Nothing is fetched in a hidden tab, while updates are paused, or
// while rows are selected, text is marked or a menu is open: then the status says so.

import { isAwaited } from "./answers.js";

const DEBOUNCE = 300;
const EVERY_WITH_HINTS = 10_000; // ages grow without any change, and a hint may be lost
const EVERY_WITHOUT_HINTS = 3_000;
const UNHEARD_FOR = 1_000; // what changed before the hints began would wait for the next look
const LOST_AFTER_ERRORS = 3;
const AGAIN_AFTER = 3_000; // when there was no answer
const PAUSED_KEY = "signalbox-updates-paused";

const root = document.documentElement;
const status = document.getElementById("live-status");
const button = document.getElementById("live-pause");
const region = () => document.querySelector("[data-live-queues]");

let source = null;
let errors = 0;
let refreshed = Date.now();
let failed = 0; // when there was no answer, until there is one
let wanted = false;
let timer = null;
let pressed = false; // a click that was begun would be lost with what it was begun on
let paused = sessionStorage.getItem(PAUSED_KEY) === "yes";

// ---- when not to update

function heldBecause() {
  const living = region();
  if (living.querySelector("input[data-pick]:checked")) return "rows are selected";
  if (document.querySelector("details.menu[open], dialog[open]")) return "a menu is open";
  const marked = getSelection();
  if (marked && !marked.isCollapsed && living.contains(marked.anchorNode)) return "text is marked";
  if (living.matches(":has(:is(input:not([data-pick]), textarea, select):focus)")) return "you are typing";
  if (living.querySelector(".plot svg:focus")) return "a chart is read";
  return "";
}

// ---- saying how live the page is

function tell() {
  const held = !paused && heldBecause();
  const state = paused ? "paused" : held ? "held" : failed ? "away" : source ? "on" : "lost";
  const age = Math.floor((Date.now() - refreshed) / 1000);
  const since = age < 2 ? "now" : age < 90 ? `${age} s ago` : `${Math.floor(age / 60)} m ago`;
  const text = {
    on: `live · ${since}`,
    held: `held while ${held}`,
    paused: `paused · ${since}`,
    lost: `asking every 3 s · ${since}`,
    away: `no answer · ${since}`,
  }[state];
  if (root.dataset.live !== state) root.dataset.live = state;
  if (status.textContent !== text) status.textContent = text;
}

// ---- fetching

function refresh() {
  timer = null;
  if (document.hidden || paused || isAwaited() || pressed || heldBecause()) return;
  wanted = false;
  window.htmx.trigger(region(), "live");
}

function want() {
  wanted = true;
  const every = Number(region().dataset.liveEvery || 1) * 1000;
  const now = Date.now();
  timer ??= setTimeout(refresh, Math.max(DEBOUNCE, every - (now - refreshed), AGAIN_AFTER - (now - failed)));
}

function onTick() {
  tell();
  const age = Date.now() - refreshed;
  if (wanted || age > (source ? EVERY_WITH_HINTS : EVERY_WITHOUT_HINTS)) want();
}

// ---- no answer: it is asked again until there is one, and then everything is as before

function noAnswer() {
  failed = Date.now();
  wanted = true;
  tell();
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
    if (Date.now() - refreshed > UNHEARD_FOR) want();
  });
  source.addEventListener("stat", (event) => {
    const mine = region().dataset.liveQueues;
    if (mine === "all" || event.data.split(",").includes(mine)) want();
  });
  source.addEventListener("error", () => {
    errors += 1;
    if (source.readyState === EventSource.CLOSED || errors >= LOST_AFTER_ERRORS) disconnect();
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
  tell();
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

// ---- what is open stays open

let unfolded = [];
const folds = () => [...region().querySelectorAll("details:not(.menu)")];

function keepFolds() {
  unfolded = folds().map((details) => details.open);
}

function restoreFolds() {
  const now = folds();
  if (now.length === unfolded.length) now.forEach((details, index) => (details.open = unfolded[index]));
}

if (region() && status) {
  button.hidden = false;
  button.addEventListener("click", () => setPaused(!paused));
  document.addEventListener("htmx:beforeSwap", keepFolds);
  document.addEventListener("htmx:afterSwap", restoreFolds);
  document.addEventListener("htmx:responseError", (event) => event.detail.xhr.status > 500 && noAnswer());
  document.addEventListener("htmx:sendError", noAnswer);
  document.addEventListener("htmx:afterSettle", () => {
    answered();
    refreshed = Date.now();
    showBreaches();
    tell();
  });
  // A view that moved or a session that ended answers with another page: go there instead of swapping it in.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status >= 400) event.detail.shouldSwap = false;
  });
  // The reader may have begun to read, or to click, while the request was pending.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.requestConfig.triggeringEvent?.type !== "live" || !(pressed || heldBecause())) return;
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
    document.addEventListener(happening, tell, true);
  }
  // A press can end without an event, as in a menu of the browser: the next move shows that it has ended.
  for (const happening of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
    document.addEventListener(happening, (event) => (pressed = event.buttons > 0), true);
  }
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && connect());
  if (paused) setPaused(true);
  else connect();
  setInterval(onTick, 1000);
  tell();
} else if (status) {
  status.textContent = "this page does not change";
}
