// The strip of numbers at the working point.

import { el, mark, shown, shownError } from "./dom.js";

const STATES = { computing: "computing…", refused: "refused", unreachable: "no answer" };

/** `words`: of which settings the numbers are, where those are not the form's. */
export function summarise(strip, standing, words) {
  const { frame, state } = standing;
  mark(strip, standing);
  const remark = words ? `${state === "computing" ? "" : `${STATES[state]}; `}at ${words}` : frame && state === "computing" ? undefined : STATES[state];
  const facts = frame?.answers.learned ? factsOf(frame) : [["Test error", "–", "on new inputs"]];
  const key = JSON.stringify([facts, remark]);
  if (key === strip.dataset.said) return;
  strip.dataset.said = key;
  strip.replaceChildren(...facts.map(([name, value, meaning]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "words" }, remark ?? meaning))));
}

function factsOf({ answers: { learned: { point, layer } }, settings: { alpha } }) {
  const at = `on new inputs, α = ${shown(alpha, 3)}`, signs = point.test_error_01 !== undefined; // a classifier is judged by its signs
  return [
    signs ? ["Wrong signs", shownError(point.test_error_01), `share ${at}`] : ["Test error", shownError(point.test_error), `mean square ${at}`],
    signs ? ["Wrong in training", shownError(point.train_error_01), "share of the fit samples"] : ["Training error", shownError(point.train_error), "mean square on the fit samples"],
    ["Strength r", several(layer.r.at(-1)), stepwise(layer.r) ?? "of the step in the first layer"],
    ["Alignment γ", several(layer.gamma.at(-1)), stepwise(layer.gamma) ?? "of the step with the target"],
    ["Size c", several(layer.c.at(-1)), stepwise(layer.c) ?? "of the first layer's random part"],
    ...(layer.network_error ? [["Before the fit", shownError(layer.network_error.at(-1)), stepwise(layer.network_error)]] : []),
  ];
}

/** Numbers in a line; letters that agree are said once. */
const several = (values, digits = 4) => [...new Set([values].flat(2).map((v) => shown(v, digits)))].join(", ");

/** What each of several steps makes of them: "0.67 → 0.84 → 0.95". */
const stepwise = (path) => (path.length > 1 ? path.map((values) => several(values, 3)).join(" → ") : undefined);
