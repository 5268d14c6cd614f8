// The form, built from the server's list of controls: a label, an input and, for many numbers, a slider for each.

import { el, shown } from "./dom.js";
import { parsed } from "./state.js";

const READOUTS = ["uniform", "rademacher", "ternary", "gaussian", "uniform-interval", "-1:0.25,0:0.5,1:0.25"];
const SIGNS = /^\s*(sign|logistic)\b/; // targets whose labels are ±1
const STEPS = 200; // positions of a slider; one for each value where it counts

export class Controls {
  /** `onChange(changed)` hears of every change, as an object of settings. */
  constructor(form, about, onChange) {
    this.fields = new Map();
    this.wrong = undefined; // the label of the first control whose value makes no sense
    const names = { functions: about.functions, losses: about.losses.map(example), readouts: READOUTS };
    for (const [id, values] of Object.entries(names)) form.append(el("datalist", { id }, ...values.map((value) => el("option", { value }))));
    for (const [title, list] of Map.groupBy(about.controls, ({ group }) => group)) {
      const group = el("fieldset", {}, el("legend", {}, title));
      const more = el("details", { class: "more" }, el("summary", {}, list.some((control) => !control.more) ? "more" : "show"));
      for (const control of list) {
        const field = new Field(control, (value) => onChange(this.implied(control, value)));
        this.fields.set(control.name, field);
        field.fold = control.more ? more : undefined;
        (control.more ? more : group).append(field.element);
      }
      if (list.some((control) => control.more)) group.append(more);
      form.append(group);
    }
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** A change, and what goes with it: another axis for the curve has another range, labels ±1 have no additive noise. */
  implied({ name }, value) {
    const slider = name === "along" && this.fields.get(value)?.control.slider;
    if (slider) return { along: value, low: slider[0], high: slider[1] };
    if (name === "layer") return { layer: value, bulk: value === "step" ? "exact" : "isotropic", along: "alpha", low: 0.1, high: 6 };
    if (name === "target" ? SIGNS.test(value) : ["flips", "latent_noise"].includes(name) && value > 0) return { [name]: value, noise: 0 };
    return { [name]: value };
  }

  show(settings) {
    for (const [name, field] of this.fields) {
      const { when } = field.control;
      field.element.hidden = Boolean(when) && Object.entries(when).some(([other, value]) => settings[other] !== value);
      field.show(settings[name]);
      if (field.fold && settings[name] !== field.control.initial) field.fold.open = true;
    }
  }

  /** Mark what is wrong, in the page's words: numbers by their limits, the rest as the server says. Returns whether all is well. */
  mark(settings, refusals) {
    this.wrong = undefined;
    for (const [name, field] of this.fields) {
      const wrong = field.element.hidden ? undefined : field.wrong(settings[name]);
      if (wrong) this.wrong ??= field.control.label;
      field.complain(wrong ?? refusals.get(name));
    }
    return this.wrong === undefined;
  }
}

const example = (loss) => loss.replace("delta", "0.5").replace("tau", "0.9");

class Field {
  constructor(control, onChange) {
    this.control = control;
    const { name, symbol, label, hint, kind, options, slider, short } = control, id = `set-${name}`;
    this.complaint = el("small", { id: `${id}-error`, class: "complaint" });
    const described = [hint && `${id}-hint`, `${id}-error`].filter(Boolean).join(" ");
    const common = { id, name, "aria-describedby": described, title: [hint, limits(control)].filter(Boolean).join("; ") };
    const words = el("label", { for: id }, symbol && el("i", {}, symbol), label);
    const number = kind === "number" || kind === "count";
    if (kind === "switch") {
      this.input = el("input", { ...common, type: "checkbox", onchange: () => onChange(this.input.checked) });
    } else if (options) {
      this.input = el("select", { ...common, onchange: () => onChange(this.input.value) }, ...options.map(([value, text]) => el("option", { value }, text)));
    } else {
      const attributes = number ? { inputmode: "decimal", size: 7 } : { list: control.suggestions, spellcheck: "false", autocapitalize: "off" };
      this.input = el("input", { ...common, type: "text", maxlength: 300, ...attributes });
      this.input.addEventListener("input", () => {
        const value = parsed(this.input.value, control.initial);
        this.slider?.show(value);
        onChange(value);
      });
    }
    this.slider = slider && new Slider(control, (value) => {
      this.input.value = String(value);
      onChange(value);
    });
    const classes = ["control", slider && "sliding", short && "short", number && "number", kind === "switch" && "check", options ? "choice" : kind === "text" && "word"];
    this.element = el("div", { class: classes.filter(Boolean).join(" ") }, words, this.input, this.slider?.element,
      hint && el("small", { id: `${id}-hint`, class: number ? "unseen" : "hint" }, hint), this.complaint);
  }

  show(value) {
    const { input, control } = this;
    if (control.kind === "switch") input.checked = value;
    else if (document.activeElement !== input || parsed(input.value, control.initial) !== value) input.value = String(value);
    this.slider?.show(value);
  }

  /** Why a value makes no sense, as far as the page knows. */
  wrong(value) {
    const { kind, low, high, infinite, label } = this.control;
    if ((kind !== "number" && kind !== "count") || (infinite && value === "inf")) return undefined;
    if (value === "") return `${label}: a number is missing`;
    if (typeof value !== "number") return `${label}: “${value}” is not a number`;
    if (kind === "count" && !Number.isInteger(value)) return `${label}: must be a whole number`;
    return value < low || value > high ? `${label}: must be ${limits(this.control)}` : undefined;
  }

  complain(text) {
    if (text === this.complained) return;
    this.complained = text;
    if (text && this.fold && !this.fold.open) this.fold.open = true;
    this.complaint.textContent = text ?? "";
    if (text) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
  }
}

const limits = ({ low, high, infinite }) => (low === undefined ? undefined : `from ${shown(low)} to ${shown(high)}${infinite ? ", or inf" : ""}`);

class Slider {
  constructor({ name, label, kind, slider: [low, high, scale] }, onChange) {
    Object.assign(this, { low, high, log: scale === "log", places: kind === "count" ? high - low : STEPS });
    this.element = el("input", { type: "range", min: 0, max: this.places, step: 1, id: `slide-${name}`, "aria-label": `${label}, slider` });
    this.element.addEventListener("input", () => {
      const number = this.value(Number(this.element.value));
      this.say(number);
      onChange(number);
    });
  }

  value(at) {
    const { low, high } = this, share = at / this.places;
    return Number((this.log ? low * (high / low) ** share : low + (high - low) * share).toPrecision(3));
  }

  show(number) {
    const { low, high, element } = this;
    if (number === "inf") element.value = this.places;
    if (typeof number !== "number") return;
    const share = this.log ? Math.log(Math.max(number, 1e-12) / low) / Math.log(high / low) : (number - low) / (high - low);
    element.value = Math.min(this.places, Math.max(0, Math.round(this.places * share)));
    this.say(number);
  }

  say(number) {
    this.element.setAttribute("aria-valuetext", shown(number, 3));
  }
}
