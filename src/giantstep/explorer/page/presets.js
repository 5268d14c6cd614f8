// Settings worth a look: each is what comes after # in a link.

const link = (settings, ...pins) => {
  const text = new URLSearchParams(settings);
  for (const pin of pins) text.append("pin", new URLSearchParams({ ...settings, ...pin }).toString());
  return text.toString();
};

const staircase = { activation: "relu", target: "x1 + x1*x2", eta: 6, alpha0: 40, beta: 2, alpha: 8, lam: 10, high: 16 };
const network = { activation: "tanh", eta: 1, low: 0.2, high: 9, noise: 0, best: false }; // as in the paper
const spiked = { layer: "spiked", bulk: "isotropic", r: 1, low: 0.2, high: 3.2, noise: 0, best: false };

export const PRESETS = {
  "A story": [
    ["1  Random features cannot: no step", link({ eta: 0, alpha0: 0 })],
    ["2  One giant step can", ""],
    ["3  Too large a step", link({ eta: 40, alpha0: 2 }, { eta: 3, alpha0: 2 })],
    ["4  Two steps", link({ eta: 1, alpha0: 1, steps: 2 }, { steps: 1 })],
    ["5  A staircase: a second step begins to find a second direction", link({ ...staircase, steps: 2 }, { steps: 1 })],
    ["6  Signs: a classifier", link({ target: "sign", noise: 0, lam: 0.5 })],
    ["7  Noise, and the best possible error", link({ noise: 0.5, lam: 1, alpha0: 3 })],
    ["8  The same network, on structured inputs", link({ inputs: "blocks", alpha0: 2, d: 1000 }, { inputs: "isotropic" })],
  ],
  "More to try": [
    ["A ReLU network", link({ activation: "relu", target: "tanh(2*x)", eta: 1.5, alpha0: 3, noise: 0.3 })],
    ["An expression as target", link({ target: "sin(x) + 0.3*x", lam: 0.01, noise: 0.3 })],
    ["Double descent: hardly any penalty", link({ lam: 0.0001, eta: 1, alpha0: 1, noise: 0.3, high: 4 })],
    ["A step on endless samples", link({ alpha0: "inf", activation: "erf", target: "erf", eta: 2 })],
    ["Three giant steps", link({ eta: 1, alpha0: 0.5, steps: 3 }, { steps: 1 })],
    ["A readout of both signs", link({ ...staircase, readout: "rademacher" }, { readout: "uniform" })],
    ["Three letters in the readout", link({ readout: "ternary", eta: 3, alpha0: 8 })],
    ["Noisy labels, a robust loss", link({ loss: "huber:0.5", noise: 0.5, high: 4 })],
    ["A classifier by logistic regression", link({ target: "sign", noise: 0, loss: "logistic", lam: 0.05 })],
  ],
  "The paper's figures": [
    ["1  The learned function bends", link({ ...network, target: "tanh", eta: 2.5, alpha0: 2.5, lam: 0.01 }, { alpha0: 0.5 }, { alpha0: 1 })],
    ["2  One step beats every linear method: tanh", link({ ...network, target: "tanh", lam: 0.01, alpha0: 100 }, { alpha0: 1 }, { alpha0: 10 })],
    ["2  One step beats every linear method: sin", link({ ...network, lam: 0.1, alpha0: 100 }, { alpha0: 1 }, { alpha0: 10 })],
    ["3  What one step can learn at all", link({ ...spiked, r: 0.9, limits: true, along: "lam", low: 0.005, high: 100, alpha: 4 }, { alpha: 1 }, { alpha: 16 })],
    ["4  Spikes of several alignments: sin features, signs", link({ ...spiked, activation: "sin", target: "sign", quantity: "test_error", gamma: 0.8 }, { gamma: 0.5 }, { gamma: 1 })],
    ["4  Spikes of several strengths: tanh", link({ ...spiked, target: "tanh" }, { r: 0.2 }, { r: 0.5 })],
    ["4  Spikes of several alignments: tanh", link({ ...spiked, target: "tanh", gamma: 0.8 }, { gamma: 0.5 }, { gamma: 1 })],
    ["5  Wider networks", link({ ...network, alpha0: 1.5, alpha: 1.2, along: "beta", low: 0.15, high: 3.3 })],
    ["6  Letters of both signs", link({ ...spiked, activation: "relu", target: "relu", bulk: "orthogonal", readout: "rademacher" }, { readout: "uniform" })],
    ["7  The basis functions: tanh", link({ ...spiked, r: 2 })],
    ["7  The basis functions: sin", link({ ...spiked, activation: "sin", r: 2 })],
    ["8  Eigenvalues of the features", link({ ...spiked, activation: "sign", alpha: 1 })],
  ],
};
