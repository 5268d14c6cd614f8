// A card: heading, chart, messages, and the Python lines that reproduce what is drawn.

import { copy, el } from "./dom.js";

export class Card {
  constructor({ id, title, lead, wide }) {
    this.title = title;
    this.status = el("span", { class: "status", "aria-live": "off" });
    this.box = el("div", { class: "chart" });
    this.messages = el("div", { class: "messages", "aria-live": "polite" });
    this.actions = el("div", { class: "actions" });
    this.codes = el("div", { class: "codes" });
    const python = el("details", { class: "python" }, el("summary", {}, "Python"), this.codes);
    this.element = el("section", { class: wide ? "card wide" : "card", id, "aria-labelledby": `${id}-title` },
      el("div", { class: "head" }, el("h2", { id: `${id}-title` }, title), this.status),
      el("p", { class: "lead" }, lead), this.messages, this.box, this.actions, python);
    this.shownCode = "";
  }

  /** Whether something is still being computed, and how long the last answer took. */
  busy(working, milliseconds) {
    this.element.classList.toggle("busy", working);
    this.element.setAttribute("aria-busy", String(working));
    this.status.textContent = working ? "computing…" : milliseconds === undefined ? "" : `${Math.round(milliseconds)} ms`;
  }

  say(errors, notes) {
    this.messages.replaceChildren(
      ...errors.map((text) => el("p", { class: "message error" }, text)),
      ...notes.map((text) => el("p", { class: "message note" }, text)),
    );
  }

  /** `codes`: [label, lines] pairs. */
  python(codes) {
    const key = JSON.stringify(codes);
    if (key === this.shownCode) return; // what a visitor is selecting stays selected
    this.shownCode = key;
    this.codes.replaceChildren(...codes.map(([label, code]) => {
      const button = el("button", { type: "button", class: "copy", "aria-label": `Copy the Python lines: ${label}` }, "Copy");
      button.addEventListener("click", () => copy(code, button));
      return el("figure", {}, el("figcaption", {}, label, button), el("pre", { tabindex: 0 }, el("code", {}, code)));
    }));
  }
}
