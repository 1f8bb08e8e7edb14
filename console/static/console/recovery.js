// On the page that says what the database lacks: looks every few seconds whether it is back. A page that was asked for
// then comes by itself; where something was sent, its sender is told and decides. That takes writes, which no page tells:
// one that can be read may be all there is, and who is not logged in is led to the login without the database.

const EVERY = 3_000;
const AWAY = [502, 503, 504]; // ours, or of a proxy before a console that is away itself
const told = document.getElementById("recovery");
const reloads = "reload" in told.dataset;
const began = performance.now();

async function look() {
  if (!document.hidden) {
    try {
      if (await (reloads ? comes() : takesWrites())) return goOn();
    } catch {
      // the console itself is away: look again
    }
  }
  setTimeout(look, EVERY);
}

async function comes() {
  const answer = await fetch(location.href, { cache: "no-store", redirect: "manual" });
  return !AWAY.includes(answer.status);
}

/** As far as is known since this page came: what is older may be of the time before. */
async function takesWrites() {
  const answer = await fetch("/healthz", { cache: "no-store" });
  const { database, writable } = (await answer.json()).checks;
  const age = (performance.now() - began) / 1_000;
  return database.ok && writable.ok && database.numbers_age_seconds < age;
}

function goOn() {
  if (reloads) location.reload();
  else told.textContent = "The database answers again.";
}

told.textContent = "This page looks every three seconds whether it is back.";
setTimeout(look, EVERY);
