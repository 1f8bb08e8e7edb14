// Updates every <time>: ages count on, and moments are in the time zone that the person chose.

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

function distance(seconds) {
  const away = Math.abs(seconds);
  if (away < 1) return "now";
  const [length, unit] = UNITS.find(([length]) => away >= length);
  const span = `${Math.floor(away / length)}\u00a0${unit}`;
  return seconds > 0 ? `${span} ago` : `in ${span}`;
}

function moment(when, zone) {
  const local = zone === "local";
  const parts = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "medium",
    timeZone: local ? undefined : "UTC",
  }).format(when);
  if (!local) return `${parts} UTC`;
  const name = new Intl.DateTimeFormat("en", { timeZoneName: "short" })
    .formatToParts(when)
    .find((part) => part.type === "timeZoneName").value;
  return `${parts} ${name}`;
}

export function tellTimes() {
  const zone = document.documentElement.dataset.zone;
  const now = Date.now();
  for (const element of document.querySelectorAll("time[data-time]")) {
    const when = new Date(element.dateTime);
    const full = moment(when, zone);
    const text = element.dataset.time === "ago" ? distance((now - when) / 1000) : full;
    if (element.title !== full) element.title = full;
    if (element.textContent !== text) element.textContent = text;
  }
}

tellTimes();
setInterval(() => document.hidden || tellTimes(), 1000);
document.addEventListener("htmx:afterSwap", tellTimes);
document.addEventListener("visibilitychange", tellTimes);
