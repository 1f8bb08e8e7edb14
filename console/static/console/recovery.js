// For the page that reports an outage of the database: asks every few seconds whether the database is back. A page
// then loads by itself; after a sent form, the sender gets a notice and decides. A form needs a database that takes
// writes, which no page shows: a standby can be read, and the login page needs no database.

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
