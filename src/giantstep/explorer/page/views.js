// What each card asks, and what it makes of the answers.

import { basis, curve, learned, map, polished, spectrum } from "./plots.js";

/**
 * `asks(settings)`: the questions, as {key: [view, changed settings, {patient}]}; `main`: those of which one
 * suffices for a picture; `plot(answers, settings)`: the picture, or a sentence why there is none;
 * `marks(settings)`: what else the picture depends on;
 * `codes(answers)`: [label, lines] pairs; `pick(point, settings)`: settings that a click on the picture changes;
 * `scales`: whether its values may be shown on a logarithmic axis or on a linear one.
 */
export const CARDS = [
  {
    id: "curve",
    title: "Learning curve",
    lead: "The error along the parameter that you choose. Click to move the working point.",
    scales: true,
    main: ["exact", "isotropic"],
    asks: (s) => ({
      ...(s.bulk === "exact" && s.layer === "step" && { exact: ["curve", {}] }),
      isotropic: ["curve", s.bulk === "exact" ? { bulk: "isotropic" } : {}],
      plain: ["random_features", {}],
      bounds: ["bounds", {}],
      ...pinned("curve", ({ along, low, high }) => ({ along, low, high }), s),
    }),
    plot: curve,
    marks: ({ along, quantity, pinned: pins, ...s }) => [quantity, s[along], ...pins.map(({ words }) => words)],
    codes: (a) => [
      ["The network", (a.exact ?? a.isotropic)?.code],
      a.exact && a.isotropic && ["The isotropic model", a.isotropic.code],
      ["Random features", a.plain?.code],
      ["Bounds", a.bounds?.code],
      ["Simulation", a.simulation?.code],
    ],
    pick: ({ x }, { along }) => ({ [along]: rounded(x) }),
  },
  {
    id: "learned",
    title: "Learned function",
    lead: "The network's average output against its target, at the working point.",
    main: ["learned"],
    asks: (s) => ({ learned: ["learned", {}], ...pinned("learned", () => ({}), s) }),
    plot: learned,
    marks: ({ pinned: pins }) => pins.map(({ words }) => words),
    codes: (a) => [["Learned function", a.learned?.code]],
  },
  {
    id: "optimum",
    title: "Strength of the step and penalty",
    lead: "Test error, or wrong signs, at the chosen α: darker is better. Click to go there.",
    main: ["map"],
    asks: (s) => ({
      map: ["landscape", {}],
      ...(polished(s) && { best: ["optimum", {}, { patient: true }] }),
    }),
    plot: map,
    marks: ({ eta, r, lam, quantity }) => [eta, r, lam, quantity],
    codes: (a) => [["The map", a.map?.code], ["The optimum", a.best?.code]],
    pick: ({ x, y }, { layer }) => ({ [layer === "step" ? "eta" : "r"]: rounded(x), lam: rounded(y) }),
  },
  {
    id: "coefficients",
    title: "Coefficients of the features",
    lead: "Given the projection κ on the spike, features behave as μ₀ + μ₁ w·x + μ₂ ξ.",
    main: ["mu"],
    asks: () => ({ mu: ["coefficients", {}] }),
    plot: basis,
    marks: () => [],
    codes: (a) => [["Coefficients", a.mu?.code]],
  },
  {
    id: "spectrum",
    title: "Spectrum of the features",
    lead: "Eigenvalues of the feature covariance at the chosen α: bulk, and outliers beyond it.",
    scales: true,
    main: ["exact", "isotropic"],
    asks: (s) => ({
      isotropic: ["spectrum", { bulk: s.bulk === "exact" ? "isotropic" : s.bulk }, { patient: true }],
      ...(s.bulk === "exact" && s.layer === "step" && { exact: ["spectrum", {}, { patient: true }] }),
    }),
    plot: spectrum,
    marks: () => [],
    codes: (a) => [["Spectrum", (a.exact ?? a.isotropic)?.code]],
  },
];

const rounded = (value) => Number(value.toPrecision(3));

/** The same question for what is pinned, on the axis of the settings at hand. */
const pinned = (view, shared, settings) =>
  Object.fromEntries(settings.pinned.map((pin, i) => [`pin${i}`, [view, { ...pin, ...shared(settings) }]]));
