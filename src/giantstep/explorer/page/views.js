// What each card asks and how it draws the answers.

import { draw } from "./chart.js";
import { el, shown } from "./dom.js";
import { drawMap } from "./heatmap.js";

const NAMES = {
  test_error: "test error",
  train_error: "training error",
  test_error_01: "share of wrong signs, test",
  train_error_01: "share of wrong signs, training",
};
const LOG_RATIO = 30; // quantities that span more than this get a logarithmic axis
const DEEPEST = 1e-7; // of the largest value, at the bottom of a logarithmic axis

/**
 * `asks(settings)`: the questions, as {key: [view, changed settings]}; `draw(card, answers, settings)` with those
 * answers that have arrived; `codes(answers)`: [label, lines] pairs; `patient`: ask only when the sliders rest;
 * `optional`: questions without which the card is whole.
 */
export const CARDS = [
  {
    id: "curve",
    title: "Learning curve",
    lead: "Error against the number of samples that the readout is fitted on.",
    wide: true,
    asks: (s) => ({
      isotropic: ["curve", { bulk: "isotropic" }],
      ...(s.bulk === "exact" && { exact: ["curve", { bulk: "exact" }] }),
      plain: ["random_features", {}],
      ...(s.quantity === "test_error" && { bounds: ["bounds", {}] }),
    }),
    optional: ["bounds"],
    draw: drawCurve,
    codes: (a) => [
      ["The network", (a.exact ?? a.isotropic)?.code],
      a.exact && a.isotropic && ["The isotropic model", a.isotropic.code],
      ["Random features", a.plain?.code],
      ["Bounds", a.bounds?.code],
      ["Simulation", a.simulation?.code],
    ],
  },
  {
    id: "learned",
    title: "Learned function",
    lead: "The network's average output against its target, at the chosen α.",
    asks: () => ({ learned: ["learned", {}] }),
    draw: drawLearned,
    codes: (a) => [["Learned function", a.learned?.code]],
  },
  {
    id: "optimum",
    title: "Learning rate and penalty",
    lead: "Test error over (η̃, λ) at the chosen α: darker is better.",
    asks: (s) => ({ map: ["landscape", {}], ...(s.loss === "square" && { best: ["optimum", {}] }) }),
    patient: true,
    draw: drawOptimum,
    codes: (a) => [["The map", a.map?.code], ["The optimum", a.best?.code]],
  },
  {
    id: "coefficients",
    title: "Coefficients of the features",
    lead: "Given the projection κ on the spike, features behave as μ₀ + μ₁ w·x + μ₂ ξ.",
    asks: () => ({ mu: ["coefficients", {}] }),
    draw: drawCoefficients,
    codes: (a) => [["Coefficients", a.mu?.code]],
  },
  {
    id: "spectrum",
    title: "Spectrum of the features",
    lead: "Eigenvalues of the feature covariance at the chosen α: bulk, and outliers beyond it.",
    asks: (s) => ({
      isotropic: ["spectrum", { bulk: "isotropic" }],
      ...(s.bulk === "exact" && { exact: ["spectrum", { bulk: "exact" }] }),
    }),
    patient: true,
    draw: drawSpectrum,
    codes: (a) => [["Spectrum", (a.exact ?? a.isotropic)?.code]],
  },
];

function drawCurve({ box, title }, { isotropic, exact, plain, bounds, simulation }, settings) {
  const name = Object.hasOwn(NAMES, settings.quantity) ? settings.quantity : "test_error", main = exact ?? isotropic;
  if (!main) return;
  if (!main[name]) {
    box.replaceChildren(el("p", { class: "message note" }, `Labels are not ±1 here, so there is no ${NAMES[name]}; choose another quantity.`));
    return;
  }
  const series = [];
  const test = name === "test_error";
  if (test && bounds) {
    series.push({ label: "best linear method", look: "linear", level: bounds.linear });
    if (settings.loss === "square") series.push({ label: "reached by λ = ∞", look: "upper", level: bounds.upper });
    series.push({ label: "lower bound", look: "lower", level: bounds.lower });
  }
  if (plain?.[name]) series.push({ label: "random features", look: "plain", marker: "triangle", x: plain.alpha, y: plain[name] });
  series.push({ label: exact ? "network" : "network, isotropic model", look: "main", x: main.alpha, y: main[name] });
  if (exact && isotropic?.[name]) series.push({ label: "isotropic model", look: "isotropic", x: isotropic.alpha, y: isotropic[name] });
  if (simulation?.[name]) {
    const { mean, error } = simulation[name];
    series.push({ label: `simulation, d = ${settings.d}, ${simulation.trial} of ${simulation.trials} trials`, look: "simulation", points: true, x: simulation.alpha, y: mean, error });
  }
  const values = series.flatMap((s) => s.y ?? [s.level]).filter((v) => v > 0);
  const top = Math.max(...values), floor = Math.max(Math.min(...values), top * DEEPEST);
  const ylog = top / floor > LOG_RATIO;
  draw(box, {
    series, title, ylog, xlog: main.log, xrange: [main.alpha[0], main.alpha.at(-1)], here: settings.alpha, height: 380,
    yrange: ylog ? [floor / 1.5, top * 1.5] : undefined,
    xlabel: "α, samples ÷ d", ylabel: NAMES[name],
  });
}

function drawLearned({ box, title }, { learned }) {
  if (!learned) return;
  const { x, truth } = learned;
  draw(box, {
    title,
    series: [
      { label: "target", look: "plain", marker: "square", x, y: truth },
      { label: "network, on average", look: "main", x, y: learned.learned },
    ],
    xlabel: "x, projection on the target's direction", ylabel: "output",
  });
}

function drawCoefficients({ box, title }, { mu }) {
  if (!mu) return;
  const most = mu.curves.length > 4 ? [mu.curves[0], mu.curves.at(-1)] : mu.curves;
  const series = most.flatMap(({ letter, ...curves }, i) =>
    ["mu0", "mu1", "mu2"].map((name, k) => ({
      label: `μ${"₀₁₂"[k]}${letter === null ? "" : `, letter ${shown(letter, 3)}`}`,
      look: `mu${k} letter${i}`, marker: ["circle", "square", "triangle"][k], x: mu.kappa, y: curves[name],
    })));
  draw(box, { title, series, xlabel: "κ, projection on the spike", ylabel: "coefficient" });
}

function drawOptimum({ box, title }, { map, best }, settings) {
  if (!map) return;
  const found = best?.best ?? map.best;
  const marks = [];
  if (settings.eta > 0 && settings.lam > 0) marks.push({ x: settings.eta, y: settings.lam, look: "here-spot", label: "you are here" });
  if (found) {
    const kind = best ? "optimum" : settings.loss === "square" ? "best of the map so far" : "best of the map";
    marks.push({ x: found.eta, y: found.lam, look: "best-spot", label: `${kind}: error ${shown(found.error, 4)} at η̃ = ${shown(found.eta, 3)}, λ = ${shown(found.lam, 3)}${best?.at_end ? " (at the map's edge)" : ""}` });
  }
  drawMap(box, { title, x: map.eta, y: map.lam, values: map.test_error, marks, xlabel: "η̃, learning rate ÷ d", ylabel: "λ, penalty" });
}

function drawSpectrum({ box, title }, { isotropic, exact }, settings) {
  const spectrum = exact ?? isotropic;
  if (!spectrum) return;
  const outliers = spectrum.outlier.filter((v) => v !== null);
  const spikes = (spectrum.spike ?? []).filter((v) => v !== null && v > 0);
  const series = bulkOf(spectrum, { label: `bulk, ${spectrum.bulk}`, look: "main", area: true });
  if (spectrum.bulk === "exact" && isotropic) series.push(...bulkOf(isotropic, { label: "isotropic model", look: "isotropic" }));
  if (outliers.length) series.push({ label: `outlier${outliers.length > 1 ? "s" : ""} at ${outliers.map((v) => shown(v, 3)).join(", ")}`, look: "outlier", marker: "diamond", stems: outliers });
  if (spikes.length) series.push({ label: `spike of the mean at ${spikes.map((v) => shown(v, 3)).join(", ")}`, look: "plain", marker: "square", stems: spikes });
  draw(box, { title, series, xlog: true, xlabel: "eigenvalue", ylabel: "mass per unit of ln(eigenvalue)" });
  box.append(el("p", { class: "facts" }, factsOf(spectrum, settings).join("; ")));
}

/** One curve per interval of the bulk, as mass per unit of the logarithm: areas on the picture are shares. */
function bulkOf({ eigenvalue, density, edge }, style) {
  return edge.filter(([low]) => low !== null).map(([low, high], i) => {
    const inside = eigenvalue.map((v, k) => [v, density[k]]).filter(([v]) => v !== null && v >= low && v <= high);
    return { ...style, label: i ? undefined : style.label, x: inside.map(([v]) => v), y: inside.map(([v, p]) => v * p) };
  });
}

function factsOf({ mass_at_zero: zero, spike_per_d: perD }, settings) {
  const growing = perD.filter((v) => v !== null && v > 1e-9).map((v) => `${shown(v, 3)}·d`);
  const facts = [];
  if (zero > 1e-12) facts.push(`${shown(100 * zero, 3)} % of the eigenvalues are zero`);
  if (growing.length && !settings.finite) facts.push(`the features' mean makes ${growing.length > 1 ? "spikes" : "a spike"} at ${growing.join(", ")}, far to the right`);
  return facts;
}
