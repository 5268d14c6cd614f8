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
  const key = JSON.stringify([facts, stale]);
  if (key === strip.dataset.said) return;
  strip.dataset.said = key;
  strip.replaceChildren(...facts.map(([name, value, words]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "words" }, stale ? "computing…" : words))));
}

/** Numbers in a line; letters that agree are said once. */
const several = (values, digits = 4) => [...new Set([values].flat(2).map((v) => shown(v, digits)))].join(", ");

/** What each step makes of them: "0.67 → 0.84 → 0.95". */
const stepwise = (path) => path?.map((values) => several(values, 3)).join(" → ");
