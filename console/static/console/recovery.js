// Runs on the page that reports an outage of the database, and asks every few seconds whether the database answers.
// A page then loads again. After a form, the script only shows a notice, and the person decides. A form needs a
// database that accepts writes; the script asks /healthz, because a standby also serves pages.

const EVERY = 3_000;
const AWAY = [502, 503, 504]; // from the console, or from a proxy in front of it
const notice = document.getElementById("recovery");
const reloads = "reload" in notice.dataset;
const began = performance.now();

async function check() {
  if (!document.hidden) {
    try {
      if (await (reloads ? answers() : acceptsWrites())) return finish();
    } catch {
      // the console itself does not answer: ask again
    }
  }
  setTimeout(check, EVERY);
}

async function answers() {
  const answer = await fetch(location.href, { cache: "no-store", redirect: "manual" });
  return !AWAY.includes(answer.status);
}

/** Does the database accept writes, by a measurement that is newer than this page? */
async function acceptsWrites() {
  const answer = await fetch("/healthz", { cache: "no-store" });
  const { database, writable } = (await answer.json()).checks;
  const age = (performance.now() - began) / 1_000;
  return database.ok && writable.ok && database.numbers_age_seconds < age;
}

function finish() {
  if (reloads) location.reload();
  else notice.textContent = "The database answers again.";
}

notice.textContent = "This page asks every three seconds whether the database answers.";
setTimeout(check, EVERY);
