// Shows the values of a chart under the pointer, or at the position that the arrow keys select in a focused chart.

import { chartWords } from "./times.js";

const positions = new WeakMap();

function readOut(figure, index) {
  const hits = [...figure.querySelectorAll(".hits rect")];
  const at = Math.min(Math.max(index, 0), hits.length - 1);
  for (const hit of hits) hit.classList.toggle("at", hit === hits[at]);
  positions.set(figure, at);
  figure.querySelector(".readout").textContent = chartWords(figure, hits[at].textContent, at, hits.length);
}

function reset(figure) {
  for (const hit of figure.querySelectorAll(".hits .at")) hit.classList.remove("at");
  positions.delete(figure);
  const readout = figure.querySelector(".readout");
  readout.textContent = readout.dataset.rest;
}

document.addEventListener("pointerover", (event) => {
  const hit = event.target.closest?.(".hits rect");
  if (!hit) return;
  const figure = hit.closest("figure");
  readOut(figure, [...figure.querySelectorAll(".hits rect")].indexOf(hit));
});

document.addEventListener("pointerout", (event) => {
  const plot = event.target.closest?.(".plot svg");
  if (plot && !plot.contains(event.relatedTarget)) reset(plot.closest("figure"));
});

document.addEventListener("focusout", (event) => {
  if (event.target.matches?.(".plot svg")) reset(event.target.closest("figure"));
});

document.addEventListener("keydown", (event) => {
  if (!event.target.matches?.(".plot svg")) return;
  const figure = event.target.closest("figure");
  const last = figure.querySelectorAll(".hits rect").length - 1;
  const at = positions.get(figure) ?? last + 1;
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  readOut(figure, next);
});
