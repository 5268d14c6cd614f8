// The settings, and their form in the address: every one that is not at its initial value.

export function encode(settings, initial) {
  const pairs = Object.entries(settings).filter(([name, value]) => value !== initial[name]);
  return new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
}

/** Settings from the text after # in a link; names that are not known are left out. */
export function decode(text, initial) {
  const settings = { ...initial };
  for (const [name, value] of new URLSearchParams(text)) {
    if (!Object.hasOwn(initial, name)) continue;
    settings[name] = parsed(value, initial[name]);
  }
  return settings;
}

/** A value as typed, in the kind of its initial value; what is not a number stays a text for the server to refuse. */
export function parsed(text, like) {
  if (typeof like === "boolean") return text === "true";
  if (typeof like !== "number") return text;
  const typed = text.trim().replace("∞", "inf");
  const value = Number(typed);
  return typed === "" || !Number.isFinite(value) ? typed : value;
}

export const EXAMPLES = [
  ["One step, tanh learns sin", ""],
  ["Random features: no step at all", "eta=0&alpha0=0"],
  ["A ReLU network", "activation=relu&target=tanh(2*x)&eta=1.5&alpha0=3"],
  ["An expression as target", "target=sin(2*x) + 0.3*x**3&eta=3&alpha0=10&lam=0.01"],
  ["Double descent: hardly any penalty", "lam=0.0001&eta=1&alpha0=1&noise=0.3&alpha_max=4"],
  ["A population step, perfect information", "alpha0=inf&activation=erf&target=erf&eta=2"],
  ["Three letters in the readout", "readout=ternary&eta=3&alpha0=8"],
  ["Noisy labels, a robust loss", "loss=huber:0.5&noise=0.5&alpha_max=4"],
  ["Classification: logistic loss of signs", "target=sign&loss=logistic&lam=0.05&quantity=test_error_01"],
];
