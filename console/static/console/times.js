// Shows moments in the time zone that the person chose: local, unless Display says UTC. The server writes UTC.
//
// Every <time> names its zone; its title has the moment in the other zone too. Ages count on. The axes, tables and values
// of charts follow, and a field for a moment in UTC says what that is in local time.

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];
const MOMENT = { dateStyle: "short", timeStyle: "medium" };
const MINUTE = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const DAY = { month: "short", day: "numeric" };
const CHART_FORMS = { day: DAY, moment: { ...DAY, ...MINUTE }, minute: MINUTE, second: { ...MINUTE, second: "2-digit" } };
const TYPED_UTC = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)$/;

const root = document.documentElement;
const isLocal = () => root.dataset.zone === "local";
const formats = new Map();

/** One format of Intl each for a language, a zone and its options: making one is slow. */
function format(language, options, local) {
  const key = JSON.stringify([language, options, local]);
  if (!formats.has(key)) {
    formats.set(key, new Intl.DateTimeFormat(language, { ...options, timeZone: local ? undefined : "UTC" }));
  }
  return formats.get(key);
}

function zoneName(when, local) {
  const parts = format("en", { timeZoneName: "short" }, local).formatToParts(when);
  return parts.find((part) => part.type === "timeZoneName").value;
}

function moment(when, local) {
  return `${format("sv-SE", MOMENT, local).format(when)} ${zoneName(when, local)}`;
}

function distance(seconds) {
  const away = Math.abs(seconds);
  if (away < 1) return "now";
  const [length, unit] = UNITS.find(([length]) => away >= length);
  const span = `${Math.floor(away / length)}\u00a0${unit}`;
  return seconds > 0 ? `${span} ago` : `in ${span}`;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// ---- <time>

function tellTime(element, now) {
  const when = new Date(element.dateTime);
  const shown = moment(when, isLocal());
  const isAge = element.dataset.time === "ago";
  const both = new Set(isAge ? [shown] : []).add(moment(when, !isLocal()));
  const title = [...both].join(" · ");
  if (element.title !== title) element.title = title;
  setText(element, isAge ? distance((now - when) / 1000) : shown);
}

// ---- charts: evenly spaced moments between their ends

/** Return the moment at a place from 0 to 1, in a form of console/charts/time_axis.py and in the zone chosen. */
function chartMoment(figure, place, form) {
  const [from, to] = figure.dataset.ends.split(" ").map(Number);
  const when = new Date(from + place * (to - from));
  return format("en", CHART_FORMS[form], isLocal()).format(when).replace(",", "");
}

const chartZone = (figure) => zoneName(new Date(Number(figure.dataset.ends.split(" ")[1])), isLocal());
const placeOf = (index, count) => index / Math.max(count - 1, 1);

/** Return the text of one point, whose moment is in UTC, with its moment in the zone chosen. */
export function chartWords(figure, text, index, count) {
  if (!figure.dataset.form) return text;
  const [, ...values] = text.split(" · ");
  const when = chartMoment(figure, placeOf(index, count), figure.dataset.form);
  return [`${when} ${chartZone(figure)}`, ...values].join(" · ");
}

function tellChart(figure) {
  const { form, labelForm } = figure.dataset;
  const labels = labelForm ? [...figure.querySelectorAll(".xs span")] : [];
  labels.forEach((label, index) => {
    const zone = index === labels.length - 1 ? ` ${chartZone(figure)}` : "";
    setText(label, chartMoment(figure, placeOf(index, labels.length), labelForm) + zone);
  });
  const table = labelForm && figure.querySelector("details[open] table");
  if (!table) return;
  setText(table.querySelector("th"), `Time, ${chartZone(figure)}`);
  const rows = [...table.querySelectorAll("tbody th")].reverse(); // the newest row stands first
  rows.forEach((row, index) => setText(row, chartMoment(figure, placeOf(index, rows.length), form)));
}

// ---- fields for a moment in UTC

function tellField(field) {
  const typed = TYPED_UTC.exec(field.value.trim());
  const when = typed && new Date(`${typed[1]}T${typed[2]}Z`);
  const isKnown = when && !Number.isNaN(when.valueOf()) && when.getTimezoneOffset() !== 0 && isLocal();
  const hint = document.getElementById(`${field.id}-local`) ?? makeHint(field);
  setText(hint, isKnown ? `= ${moment(when, true)}` : "");
}

function makeHint(field) {
  const hint = document.createElement("output");
  hint.id = `${field.id}-local`;
  hint.className = "quiet small";
  hint.htmlFor = field.id;
  field.after(hint);
  return hint;
}

document.addEventListener("input", ({ target }) => target.matches("[data-utc]") && tellField(target));

// ---- the whole page

export function tellTimes() {
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-time]")) tellTime(element, now);
}

export function tellAllTimes() {
  tellTimes();
  document.querySelectorAll("figure[data-form]").forEach(tellChart);
  document.querySelectorAll("[data-utc]").forEach(tellField);
}

tellAllTimes();
setInterval(() => document.hidden || tellTimes(), 1000);
document.addEventListener("htmx:afterSwap", tellAllTimes);
document.addEventListener("visibilitychange", tellTimes);
document.addEventListener("toggle", ({ target }) => target.matches?.(".chart-table") && tellAllTimes(), true);
