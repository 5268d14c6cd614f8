// What each card asks, and what it makes of the answers.

import { basis, curve, learned, map, parts, polished, spectrum } from "./plots.js";

const LATER = { patient: true }; // asked when the settings rest

/**
 * `lead`, `help`: what the picture is, in a line and in two sentences; `asks(settings)`: the questions, as
 * {key: [view, changed settings, {patient}]}; `main`: those without which there is no picture;
 * `plot(answers, settings)`: the picture, or a sentence why there is none; `marks(settings)`: what else it depends on, if
 * anything; `codes`: what the Python lines of each answer are called; `pick(point, settings)`: settings that a click on
 * the picture changes;
 * `scales`: whether its values may be shown on a logarithmic axis or on a linear one.
 */
export const CARDS = [
  {
    id: "curve",
    title: "Learning curve",
    lead: "How wrong the network is on new inputs: lower is better. Click to move the dotted line.",
    help: "The thick curve is the network that the sliders describe, the others are what it competes with on as many samples: the same network without a step, the best linear method, and the best that any fast method can do. The dotted line is your setting; the tiles and the other charts belong to it.",
    scales: true,
    main: ["network"],
    asks: (s) => ({
      network: ["curve", {}],
      ...(s.model && exact(s) && { isotropic: ["curve", { bulk: "isotropic" }] }),
      ...(s.untrained && { plain: ["random_features", {}] }),
      ...(s.linear && { linear: ["best_linear", {}] }),
      ...(s.best && { best: ["best_possible", {}, LATER] }),
      ...(s.limits && { bounds: ["bounds", {}] }),
      ...pinned("curve", ({ along, low, high }) => ({ along, low, high }), s),
    }),
    plot: curve,
    marks: ({ along, quantity, pinned: pins, ...s }) => [quantity, s[along], ...pins.map(({ words }) => words)],
    codes: {
      network: "The network", isotropic: "The isotropic model", plain: "Random features", linear: "Best linear method",
      best: "Best possible", bounds: "Bounds", simulation: "Simulation",
    },
    pick: ({ x }, { along }) => ({ [along]: rounded(x) }),
  },
  {
    id: "learned",
    title: "Learned function",
    lead: "What the network puts out on average, against the rule that it should learn.",
    help: "The target depends on one direction of the input (or on a few); the chart runs along it. Where the two curves agree, the network has learned the rule; where its own is straighter, it has learned a linear part alone.",
    main: ["learned"],
    asks: (s) => ({ learned: ["learned", {}], ...pinned("learned", () => ({}), s) }),
    plot: learned,
    marks: ({ pinned: pins }) => pins.map(({ words }) => words),
    codes: { learned: "Learned function" },
  },
  {
    id: "parts",
    title: "Where the error comes from",
    lead: "The test error as a sum of three parts, and what other methods reach, for very many inputs.",
    help: "The longest of the three bars says what to improve: the steps themselves, the number of samples and neurons of the readout, or the number of samples in each step. A part may be negative; the parts are those of very large networks.",
    main: ["parts"],
    asks: () => ({ parts: ["parts", {}, LATER] }),
    plot: parts,
    codes: { parts: "Parts of the error" },
  },
  {
    id: "optimum",
    title: "Strength of the step and penalty",
    lead: "The error for other learning rates and penalties: darker is better. Click to go there.",
    help: "Each cell is a network with another learning rate and another penalty, all else as set. The cross is your setting, the star the best one.",
    main: ["map"],
    asks: (s) => ({
      map: ["landscape", {}],
      ...(polished(s) && { best: ["optimum", {}, LATER] }),
    }),
    plot: map,
    marks: ({ eta, r, lam, quantity }) => [eta, r, lam, quantity],
    codes: { map: "The map", best: "The optimum" },
    pick: ({ x, y }, { layer }) => ({ [layer === "step" ? "eta" : "r"]: rounded(x), lam: rounded(y) }),
  },
  {
    id: "coefficients",
    title: "What a trained neuron does",
    lead: "A neuron's response, by how much of the input lies along the step.",
    help: "A neuron's mean response bends along the step; its slope says how strongly it responds to the rest of the input, and what is left looks like noise. Flat curves mean that the step has changed nothing.",
    main: ["mu"],
    asks: () => ({ mu: ["coefficients", {}] }),
    plot: basis,
    codes: { mu: "Coefficients" },
  },
  {
    id: "spectrum",
    title: "Spectrum of the features",
    lead: "How the hidden layer's outputs spread over directions.",
    help: "Most directions of the hidden layer form the bulk, which is random. What stands apart on the right is what many neurons have in common, above all what the step has taught them.",
    scales: true,
    main: ["network"],
    asks: (s) => ({
      network: ["spectrum", {}, LATER],
      ...(s.model && exact(s) && { isotropic: ["spectrum", { bulk: "isotropic" }, LATER] }),
    }),
    plot: spectrum,
    codes: { network: "Spectrum", isotropic: "The isotropic model" },
  },
];

const exact = ({ bulk, layer }) => bulk === "exact" && layer === "step";
const rounded = (value) => Number(value.toPrecision(3));

/** The same question for what is pinned, on the axis of the settings at hand. */
const pinned = (view, shared, settings) =>
  Object.fromEntries(settings.pinned.map((pin, i) => [`pin${i}`, [view, { ...pin, ...shared(settings) }]]));
