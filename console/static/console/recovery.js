// On the page that says what the database lacks: looks every few seconds whether it is back. A page that was asked for
// then comes by itself; where something was sent, its sender is told and decides.

const EVERY = 3_000;
const AWAY = [502, 503, 504]; // ours, or of a proxy before a console that is away itself
const told = document.getElementById("recovery");
const reloads = "reload" in told.dataset;

async function look() {
  if (!document.hidden) {
    try {
      const answer = await fetch(reloads ? location.href : "/", { cache: "no-store", redirect: "manual" });
      if (!AWAY.includes(answer.status)) return goOn();
    } catch {
      // the console itself is away: look again
    }
  }
  setTimeout(look, EVERY);
}

function goOn() {
  if (reloads) location.reload();
  else told.textContent = "The database answers again.";
}

told.textContent = "This page looks every three seconds whether it is back.";
setTimeout(look, EVERY);
