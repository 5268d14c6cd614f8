// The strip of numbers at the working point.

import { el, shown, shownError } from "./dom.js";

export function summarise(strip, { frame, stale, busy }) {
  strip.classList.toggle("stale", stale);
  strip.setAttribute("aria-busy", String(busy));
  const answer = frame?.answers.learned;
  if (!answer) return;
  const { point, layer } = answer, { alpha } = frame.settings;
  const squared = ["Test error", shownError(point.test_error), `mean square, at α = ${shown(alpha, 3)}`];
  const signs = point.test_error_01 !== undefined && ["Wrong signs", shownError(point.test_error_01), `share, at α = ${shown(alpha, 3)}`];
  const facts = [
    ...(signs ? [signs, squared] : [squared]), // a classifier is judged by its signs
    ["Training error", shownError(point.train_error), "mean square, against the labels"],
    ["r", several(layer.r), stepwise(layer.path?.r) ?? "strength of the spike"],
    ["γ", several(layer.gamma), stepwise(layer.path?.gamma) ?? "alignment with the target"],
    ["c", several(layer.c), stepwise(layer.path?.c) ?? "squared row norm without it"],
    ...(layer.path?.network_error ? [["Before the fit", shownError(layer.path.network_error.at(-1)), stepwise(layer.path.network_error)]] : []),
  ];
  strip.replaceChildren(...facts.map(([name, value, words]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "words" }, stale ? "computing…" : words))));
}

/** What each step makes of a number, in a line: "0.67 → 0.84 → 0.95"; letters that agree are said once. */
const stepwise = (path) => path?.map((values) => [...new Set([values].flat(2).map((v) => shown(v, 3)))].join(", ")).join(" → ");

const several = (value) => [value].flat(2).map((v) => shown(v, 4)).join(", ");
