// Pictures of answers, as Plotly takes them. Curves differ in colour and in dash; bounds and what is pinned are grey.

import { dash, literally, theme } from "./chart.js";
import { shown, shownError } from "./dom.js";

const NAMES = {
  test_error: "test error",
  train_error: "training error",
  test_error_01: "share of wrong signs, test",
  train_error_01: "share of wrong signs, training",
};
const ALONG = {
  alpha: "α, fit samples ÷ d", lam: "λ, ridge penalty", beta: "β, width ÷ d", eta: "η̃, learning rate ÷ d",
  alpha0: "α₀, step samples ÷ d", r: "r, strength of the spike", gamma: "γ, alignment",
};
const TAIL = 0.85; // share of the values that the map's shades tell apart
const SHADES = ["#0d2b59", "#165690", "#2682a0", "#4faaa0", "#96cd96", "#dee8a0", "#fcf8d2"];
const SIGNS = ["#0b5c8f", "#62a6cf", "#f4f4f2", "#e59a5c", "#b04a00"]; // of values below and above zero
const ALIKE = 1e-6; // relative difference of errors that are the same but for rounding
const TINY = 1e-7; // of the largest eigenvalue: smaller ones have next to no mass
const LEVELS = 12; // contour lines between the ends of the scale
const BAR = { thickness: 10, len: 0.9, outlinewidth: 0 }; // of shades
const PINS = ["dot", "dashdot", "longdash"];

const line = (name, x, y, colour, look = {}) =>
  ({ type: "scatter", mode: "lines", name, x, y, line: { color: colour, width: 1.6, simplify: false, ...look.line }, hovertemplate: "%{y:.4g}", ...look.more });

/** The quantity that a curve shows: for labels ±1, unless told otherwise, the share of wrong signs. */
const quantityOf = (settings, answer) =>
  settings.quantity !== "auto" && Object.hasOwn(NAMES, settings.quantity) ? settings.quantity : answer.test_error_01 ? "test_error_01" : "test_error";

export function curve({ network, isotropic, plain, linear, best, bounds, simulation, ...rest }, settings) {
  const name = quantityOf(settings, network), colours = theme();
  if (!network[name]) return `Labels are not ±1 here, so there is no ${NAMES[name]}; choose another quantity under “The curve”.`;
  const { x } = network, ends = [x[0], x.at(-1)], size = network.size ? ` (d = ${network.size})` : " (d = ∞)";
  const traces = [];
  const level = (label, value, colour, style) => traces.push(line(label, ends, [value, value], colour, { line: { dash: style, width: 1.3 } }));
  const add = (label, answer, colour, style) => {
    const values = answer?.[name];
    if (Array.isArray(values)) traces.push(line(label, answer.x, values, colour, { line: { dash: style } }));
    else if (values !== undefined && values !== null) level(label, values, colour, style);
  };
  if (name === "test_error" && bounds) {
    level("linear, endless samples", bounds.linear, colours.grey, "dot");
    if (network.along === "alpha" || network.along === "lam") {
      if (settings.loss === "square") level("endless penalty (λ = ∞)", bounds.upper, colours.grey, "dashdot");
      level("limit of this first layer", bounds.lower, colours.grey, "longdash");
    }
  }
  const perfect = [best?.[name] ?? []].flat(), nothing = perfect.length && perfect.every((v) => v === 0);
  add(nothing ? "best possible: 0" : "best possible", best, colours.green, "longdash");
  add("best linear method", linear, colours.purple, "dot");
  add(`random features: no step${size}`, plain, colours.orange, "solid");
  settings.pinned.forEach((pin, i) => add(`pinned: ${literally(pin.words)}`, rest[`pin${i}`], colours.grey, PINS[i]));
  add("isotropic model", isotropic, colours.red, "dash");
  const words = settings.layer === "spiked" ? "spiked features" : settings.bulk === "exact" ? "this network" : "this network, isotropic model";
  traces.push(line(`${words}${size}`, x, network[name], colours.blue, { line: { width: 2.6 }, more: { meta: "main" } }));
  if (simulation?.[name]) {
    const { mean, error } = simulation[name];
    traces.push({
      type: "scatter", mode: "markers", name: `simulation, d = ${simulation.d}, ${simulation.trial} of ${simulation.trials} trials`, x: simulation.x, y: mean,
      error_y: { type: "data", array: error, color: colours.red, thickness: 1.4 }, marker: { color: colours.red, size: 7 }, hovertemplate: "%{y:.4g}", meta: "simulation", cliponaxis: false,
    });
  }
  const here = settings[network.along];
  return {
    traces, names: [network.along, name], unified: true, keep: `${network.along} ${ends} ${name}`,
    x: { title: ALONG[network.along], log: network.log, range: ends },
    y: { title: NAMES[name], log: !name.endsWith("_01") }, // whatever the values: an axis that changes by itself misleads
    shapes: here >= ends[0] && here <= ends[1] ? [{ type: "line", x0: here, x1: here, yref: "paper", y0: 0, y1: 1, line: { color: colours.soft, dash: "dot", width: 1.2 } }] : [],
  };
}

const PARTS = {
  expressivity: ["what the steps cannot teach", "This first layer cannot express more of the target, whatever the number of samples: another activation, a higher learning rate or more steps help most."],
  readout: ["too few samples or neurons", "The readout has too few samples or neurons: more fit samples, another ridge penalty or a wider network help most."],
  batch_noise: ["noise of the steps", "The steps point past the target because of their few samples: more step samples help most."],
};

/** Bars: three parts, their sum, and other methods. */
export function parts({ parts: answer }) {
  if (!answer.parts) return "This chart splits the squared error of a trained network. It needs a first layer that comes from gradient steps, a target of one direction without flipped signs or latent noise, and a loss of the difference between output and label, such as square or huber:0.5.";
  const colours = theme(), largest = answer.parts.toSorted((a, b) => answer[b] - answer[a])[0];
  const bars = [
    ...answer.parts.map((name) => [PARTS[name][0], answer[name], name === largest ? colours.red : colours.orange]),
    ["test error, their sum", answer.test_error, colours.blue],
    ["best linear method", answer.ridge_error, colours.purple],
    ["best possible", answer.bayes_error, colours.green],
  ].filter(([, value]) => value !== null).reverse();
  const values = bars.map(([, value]) => value);
  return {
    traces: [{
      type: "bar", orientation: "h", name: "mean squared error", meta: "main", x: values, y: bars.map(([name]) => name), marker: { color: bars.map(([, , colour]) => colour) },
      text: values.map((v) => shownError(v, 3)), textposition: "outside", cliponaxis: false, hovertemplate: "%{y}: %{x:.4g}<extra></extra>",
    }],
    names: ["value", "part"], bare: true, keep: "parts", facts: PARTS[largest][1],
    x: { title: "mean squared error", range: [Math.min(0, ...values) * 1.25, Math.max(...values) * 1.2] }, y: { title: "", categories: true },
  };
}

export function learned({ learned: answer, ...rest }, settings) {
  const pins = settings.pinned.map((pin, i) => [`pinned: ${literally(pin.words)}`, rest[`pin${i}`], PINS[i]]).filter(([, found]) => found);
  return answer.x1 ? plane(answer, pins) : profile(answer, pins);
}

/** On a line: the target's one projection. */
function profile({ x, truth, learned }, pins) {
  const colours = theme(), traces = [line("target (σ⋆)", x, truth, colours.orange)];
  for (const [name, found, style] of pins) if (found.x) traces.push(line(name, x, found.learned, colours.grey, { line: { dash: style } }));
  traces.push(line("network, on average", x, learned, colours.blue, { line: { width: 2.6 }, more: { meta: "main" } }));
  return { traces, names: ["x", "output"], unified: true, keep: "x", x: { title: "x, input along the target's direction" }, y: { title: "output" } };
}

/** On the plane of the target's first two projections, side by side in the same shades: target, network, and what is pinned. */
function plane({ x1, x2, truth, learned }, pins) {
  const panels = [["target", truth], ["network, on average", learned], ...pins.filter(([, found]) => found.x1).map(([name, found]) => [name, found.learned])];
  const top = Math.max(...truth.flat().map(Math.abs)) || 1, size = (2 * top) / LEVELS;
  const ends = { tickvals: [-top, 0, top], ticktext: [-top, 0, top].map((v) => shown(v, 3)) };
  const traces = panels.map(([name, values], i) => ({
    type: "contour", name, x: x1, y: x2, z: x2.map((_, j) => x1.map((_, k) => values[k][j])), meta: i === 1 ? "main" : undefined,
    zmin: -top, zmax: top, colorscale: SIGNS.map((shade, k) => [k / (SIGNS.length - 1), shade]), contours: { coloring: "heatmap", start: -top, end: top, size },
    line: { width: 0.5, color: "#10161d" }, colorbar: { ...BAR, ...ends }, showscale: i === 0, hovertemplate: "x1 = %{x:.3g}, x2 = %{y:.3g}<br>%{z:.4g}",
  }));
  const range = [x1[0], x1.at(-1)];
  return { traces, panels: panels.map(([name]) => name), names: ["x1", "x2"], keep: `plane ${panels.length}`, x: { title: "x1, first projection", range }, y: { title: "x2, second projection", range } };
}

export function basis({ mu }) {
  const colours = theme(), most = mu.curves.length > 4 ? [mu.curves[0], mu.curves.at(-1)] : mu.curves;
  const kinds = [["mu0", "mean (μ₀)", colours.blue], ["mu1", "slope (μ₁)", colours.orange], ["mu2", "rest (μ₂)", colours.green]];
  const traces = most.flatMap(({ letter, ...curves }, i) => kinds.map(([name, words, colour], k) =>
    line(`${words}${letter === null ? "" : `, a₀ = ${shown(letter, 3)}`}`, mu.kappa, curves[name], colour, { line: { dash: dash(letter === null ? k : i), width: 2 }, more: { meta: i + k === 0 ? "main" : undefined } }))).reverse();
  return { traces, names: ["kappa", "coefficient"], unified: true, keep: "kappa", x: { title: "κ, input along the step" }, y: { title: "response" } };
}

/** Whether the optimum is searched for beyond the points of the map; elsewhere that would take minutes. */
export const polished = ({ loss, layer, steps }) => loss === "square" && layer === "step" && steps === 1;

export function map({ map: answer, best: polishedOne }, settings) {
  const { strength: x, lam: y, name } = answer, symbol = name === "eta" ? "η̃" : "r";
  const squared = settings.quantity === "test_error" || !answer.test_error_01, quantity = squared ? "test_error" : "test_error_01";
  const best = squared ? polishedOne : null; // which is that of the squared error
  const errors = y.map((_, j) => x.map((_, i) => answer[quantity][i][j])); // rows of equal λ
  const sorted = errors.flat().filter((v) => v > 0).toSorted((a, b) => a - b);
  const low = sorted[0], high = sorted[Math.floor(TAIL * (sorted.length - 1))]; // errors explode in corners: one shade
  const ticks = [0, 0.5, 1].map((t) => low * (high / low) ** t);
  const traces = [{
    type: "heatmap", x, y, z: errors.map((row) => row.map((v) => (v > 0 ? Math.log(v) : null))), customdata: errors, meta: "main", name: quantity,
    zmin: Math.log(low), zmax: Math.log(high), colorscale: SHADES.map((shade, i) => [i / (SHADES.length - 1), shade]), hoverongaps: false,
    hovertemplate: `${symbol} = %{x:.3g}, λ = %{y:.3g}<br>${NAMES[quantity]} %{customdata:.4g}<extra></extra>`,
    colorbar: { ...BAR, tickvals: ticks.map(Math.log), ticktext: ticks.map((v, i) => (i === 2 ? `≥ ${shown(v, 2)}` : shown(v, 2))) },
  }];
  const spot = (label, at, marker) => traces.push({ type: "scatter", mode: "markers", name: label, x: [at.strength], y: [at.lam], marker: { size: 13, line: { width: 1.6, color: "#fff" }, ...marker }, hovertemplate: label });
  const strength = settings[name];
  if (strength > 0 && settings.lam > 0) spot("you are here", { strength, lam: settings.lam }, { symbol: "cross", color: "#10161d" });
  const lowest = best?.best ?? answer.best[quantity];
  if (lowest) {
    const kind = best ? "optimum" : squared && polished(settings) ? "best of the map so far" : "best of the map";
    const alike = errors.every((row) => row.every((v) => Math.abs(v - row[0]) <= ALIKE * row[0])); // a step without samples
    const place = `${alike ? `every ${symbol}` : `${symbol} = ${shown(lowest.strength, 3)}`}, λ = ${shown(lowest.lam, 3)}`;
    const edge = best?.at_end && !alike ? " (at the map's edge)" : "";
    spot(`${kind}: ${squared ? "error" : "wrong signs"} ${shownError(lowest.error)} at ${place}${edge}`, lowest, { symbol: "star", color: "#f0a800", line: { width: 1.2, color: "#10161d" } });
  }
  const edges = (values) => [values[0] ** 1.5 / values[1] ** 0.5, values.at(-1) ** 1.5 / values.at(-2) ** 0.5]; // half a cell beyond
  return { traces, names: [name, "lam"], keep: `${name} lam`, x: { title: ALONG[name], log: true, range: edges(x) }, y: { title: ALONG.lam, log: true, range: edges(y) } };
}

export function spectrum({ network: answer, isotropic }, settings) {
  const colours = theme(), words = answer.bulk === "exact" || settings.layer === "spiked" ? "bulk" : "bulk of the isotropic model";
  const traces = bulkOf(answer, words, colours.blue, { line: { width: 2.4 }, more: { fill: "tozeroy", meta: "main" } });
  if (answer.bulk === "exact" && isotropic) traces.push(...bulkOf(isotropic, "isotropic model", colours.purple, { line: { dash: "dash" } }));
  const top = Math.max(...traces.flatMap((t) => t.y).filter((v) => v !== null), 1e-12);
  const stems = (values, label, colour, symbol) => {
    if (values.length) traces.push({
      type: "scatter", mode: "lines+markers", name: `${label} at ${values.map((v) => shown(v, 3)).join(", ")}`, x: values.flatMap((v) => [v, v, v]),
      y: values.flatMap(() => [0, 0.4 * top, null]), line: { color: colour, width: 1.6 }, marker: { color: colour, symbol, size: values.flatMap(() => [0, 9, 0]) }, hovertemplate: "%{x:.4g}",
    });
  };
  stems(answer.outlier.filter((v) => v !== null), "sticks out (outlier)", colours.red, "diamond");
  stems((answer.spike ?? []).filter((v) => v !== null && v > 0), "common to all neurons", colours.orange, "square");
  const places = traces.flatMap((t) => t.x), high = Math.max(...places), low = Math.max(Math.min(...places), TINY * high);
  return { traces, names: ["eigenvalue", "mass_per_log"], facts: factsOf(answer, settings), keep: "spectrum", x: { title: "eigenvalue of the features' covariance", log: true, range: places.length ? [low / 1.5, 2 * high] : undefined }, y: { title: "share per factor e" } };
}

/** One curve per interval of the bulk, as mass per unit of the logarithm: areas on the picture are shares. */
function bulkOf({ eigenvalue, density, edge }, label, colour, look) {
  return edge.filter(([low]) => low !== null).map(([low, high], i) => {
    const inside = eigenvalue.map((v, k) => [v, density[k]]).filter(([v]) => v !== null && v >= low && v <= high);
    return { ...line(label, inside.map(([v]) => v), inside.map(([v, p]) => v * p), colour, look), showlegend: i === 0, legendgroup: label };
  });
}

function factsOf({ mass_at_zero: zero, spike_per_d: perD }, settings) {
  const growing = (perD ?? []).filter((v) => v !== null && v > 1e-9).map((v) => `${shown(v, 3)}·d`);
  const facts = [];
  if (zero > 1e-12) facts.push(`${shown(100 * zero, 3)} % of the eigenvalues are zero`);
  if (growing.length && !settings.finite) facts.push(`what all neurons have in common makes ${growing.length > 1 ? "spikes" : "a spike"} at ${growing.join(", ")}, far to the right`);
  return facts.join("; ");
}
