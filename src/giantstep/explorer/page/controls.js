// The form: a label, an input and, for numbers, a slider for every setting.

import { el, shown } from "./dom.js";
import { parsed } from "./state.js";

const GROUPS = [
  ["The problem", [
    { name: "activation", symbol: "σ", label: "Activation", list: "functions", hint: "a name or an expression, such as tanh(2*x)" },
    { name: "target", symbol: "σ⋆", label: "Target", list: "functions", hint: "likewise: the labels, of one projection of the input" },
    { name: "noise", symbol: "Δ", label: "Label noise", slider: [0, 2, "linear"], hint: "standard deviation" },
    { name: "flips", label: "Flipped signs", short: true, hint: "share of ±1 labels" },
    { name: "latent_noise", label: "Latent noise", short: true, hint: "before the sign" },
  ]],
  ["The gradient step", [
    { name: "eta", symbol: "η̃", label: "Learning rate ÷ d", slider: [0.05, 50, "log"], hint: "0: no step" },
    { name: "alpha0", symbol: "α₀", label: "Step samples ÷ d", slider: [0.05, 100, "log"], hint: "0: no step; inf: the population" },
    { name: "beta", symbol: "β", label: "Width ÷ d", slider: [0.1, 10, "log"] },
    { name: "readout", symbol: "a₀", label: "Initial readout", list: "readouts", hint: "a name, or value:weight pairs: -1:0.25,0:0.5,1:0.25; a third number is a bias" },
  ]],
  ["The readout", [
    { name: "alpha", symbol: "α", label: "Fit samples ÷ d", slider: [0.1, 20, "log"], hint: "the working point: dotted line on the curve" },
    { name: "lam", symbol: "λ", label: "Ridge penalty", slider: [1e-4, 100, "log"] },
    { name: "loss", symbol: "ℓ", label: "Loss", list: "losses", hint: "huber:0.5 and pinball:0.9 have a parameter" },
    { name: "alpha_min", label: "Curve from α =", short: true },
    { name: "alpha_max", label: "to α =", short: true },
    { name: "bulk", label: "Model of the trained layer", options: [["exact", "exact: the network itself"], ["isotropic", "isotropic: the paper's model"]] },
    { name: "quantity", label: "Curve shows", options: [["test_error", "test error"], ["train_error", "training error"], ["test_error_01", "wrong signs, test"], ["train_error_01", "wrong signs, training"]] },
  ]],
  ["Finite size", [
    { name: "d", symbol: "d", label: "Dimension", short: true, hint: "of the simulation" },
    { name: "finite", label: "Theory at this d", checkbox: true },
    { name: "trials", label: "Trials", short: true },
    { name: "seed", label: "Seed", short: true },
  ]],
];
const READOUTS = ["uniform", "rademacher", "ternary", "gaussian", "uniform-interval", "-1:0.25,0:0.5,1:0.25"];
const STEPS = 200; // positions of a slider

/** Fill the form; `onChange(name, value)` hears of every change. Returns a function that shows given settings. */
export function build(form, about, initial, onChange) {
  const names = { functions: about.functions, losses: about.losses.map(example), readouts: READOUTS };
  for (const [id, values] of Object.entries(names)) {
    form.append(el("datalist", { id }, ...values.map((value) => el("option", { value }))));
  }
  const shows = new Map();
  for (const [title, fields] of GROUPS) {
    const group = el("fieldset", {}, el("legend", {}, title));
    for (const field of fields) {
      const [element, show] = control(field, initial[field.name], about.limits[field.name], (value) => onChange(field.name, value));
      group.append(element);
      shows.set(field.name, show);
    }
    form.append(group);
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  return (settings) => shows.forEach((show, name) => show(settings[name]));
}

const example = (loss) => loss.replace("delta", "0.5").replace("tau", "0.9");

function control(field, like, limits, onChange) {
  const id = `set-${field.name}`;
  const hint = field.hint && el("small", { id: `${id}-hint` }, field.hint);
  const common = { id, name: field.name, "aria-describedby": hint && hint.id };
  const label = el("label", { for: id }, field.symbol && el("i", {}, field.symbol), field.label);
  if (field.checkbox) {
    const box = el("input", { ...common, type: "checkbox", onchange: () => onChange(box.checked) });
    return [el("div", { class: "control check" }, box, label), (value) => (box.checked = value)];
  }
  if (field.options) {
    const options = field.options.map(([value, text]) => el("option", { value }, text));
    const select = el("select", { ...common, onchange: () => onChange(select.value) }, ...options);
    return [el("div", { class: "control" }, label, select), (value) => (select.value = value)];
  }
  const attributes = typeof like === "number" ? { inputmode: "decimal", size: 7, title: `from ${limits[0]} to ${limits[1]}` } : { list: field.list, spellcheck: "false", autocapitalize: "off" };
  const box = el("input", { ...common, type: "text", maxlength: 300, ...attributes });
  box.addEventListener("input", () => {
    if (typeof like !== "number" || parsed(box.value, like) !== "") onChange(parsed(box.value, like));
  });
  const classes = ["control", field.slider && "sliding", field.short && "short", typeof like === "number" && "number"];
  const element = el("div", { class: classes.filter(Boolean).join(" ") }, label, box);
  const slider = field.slider && sliderOf(field, (value) => {
    box.value = text(value);
    onChange(value);
  });
  if (slider) element.append(slider.element);
  if (hint) element.append(hint);
  box.addEventListener("input", () => slider?.show(parsed(box.value, like)));
  return [element, (value) => {
    if (document.activeElement !== box || parsed(box.value, like) !== value) box.value = text(value);
    slider?.show(value);
  }];
}

const text = (value) => String(value);

function sliderOf({ name, label, slider: [low, high, scale] }, onChange) {
  const value = (at) =>
    scale === "log" ? rounded(low * (high / low) ** (at / STEPS)) : rounded(low + ((high - low) * at) / STEPS);
  const position = (number) =>
    STEPS * (scale === "log" ? Math.log(number / low) / Math.log(high / low) : (number - low) / (high - low));
  const element = el("input", { type: "range", min: 0, max: STEPS, step: 1, id: `slide-${name}`, "aria-label": `${label}, slider` });
  const say = (number) => element.setAttribute("aria-valuetext", shown(number, 3));
  element.addEventListener("input", () => {
    const number = value(Number(element.value));
    say(number);
    onChange(number);
  });
  const show = (number) => {
    if (typeof number !== "number") return number === "inf" ? (element.value = STEPS) : undefined;
    element.value = Math.min(STEPS, Math.max(0, Math.round(position(Math.max(number, 1e-12)))));
    say(number);
  };
  return { element, show };
}

const rounded = (value) => Number(value.toPrecision(3));
