// A card: heading, chart, messages, ways to take the chart away, and the Python lines that reproduce what is drawn.

import { Chart } from "./chart.js";
import { copy, el, mark } from "./dom.js";

const SOON = 1000; // milliseconds after which the status tells how long it has been

export class Card {
  constructor({ id, title, lead, help, scales }, onPick) {
    Object.assign(this, { id, title });
    this.status = el("span", { class: "status" });
    this.bar = el("progress", { max: 1, hidden: true, "aria-label": `${title}: progress` });
    this.box = el("div", { class: "chart", tabindex: 0, role: "group", "aria-roledescription": "chart", "aria-label": title });
    this.messages = el("div", { class: "messages", "aria-live": "polite" });
    this.facts = el("p", { class: "facts" });
    this.actions = el("div", { class: "actions" });
    this.codes = el("div", { class: "codes" });
    this.chart = new Chart(this.box, title, onPick);
    const file = `giantstep-${id}`;
    const take = (text, words, act) => el("button", { type: "button", class: "take", title: words, "aria-label": `${title}: ${words}`, onclick: act }, text);
    this.take = el("div", { class: "taking" },
      scales && take("log / linear", "logarithmic or linear axis", () => this.chart.toggleScale()),
      take("PNG", "save as PNG picture", () => this.chart.picture("png", file)),
      take("SVG", "save as SVG picture", () => this.chart.picture("svg", file)),
      take("CSV", "save the values as CSV", () => this.chart.csv(file)));
    const python = el("details", { class: "python", ontoggle: () => this.showCode() }, el("summary", {}, "Python", el("span", { class: "unseen" }, ` lines of “${title}”`)), this.codes);
    this.opened = () => python.open;
    this.element = el("section", { class: "card", id, "aria-labelledby": `${id}-title` },
      el("div", { class: "head" }, el("h2", { id: `${id}-title` }, title), this.bar, this.status),
      el("div", { class: "lead" }, el("p", {}, lead), el("details", { class: "help" },
        el("summary", {}, "What am I seeing?", el("span", { class: "unseen" }, ` (${title})`)), el("p", {}, `${help} `, el("a", { href: `help.html#${id}`, target: "_blank" }, `More about “${title}”`)))),
      this.messages, this.box, this.facts, this.actions, el("div", { class: "foot" }, python, this.take));
    this.shownCode = "[]";
  }

  /**
   * Say where the card stands, how long the last answer took, and, in `words`, of which settings its picture is where
   * those are not the form's. `why`: the label of the control whose value is refused.
   */
  show(standing, words) {
    const { state, behind, busy, progress, round, frame, why } = standing;
    mark(this.element, standing);
    this.bar.hidden = progress === undefined;
    if (progress !== undefined) this.bar.value = progress;
    const waited = round ? performance.now() - round.begun : 0;
    this.element.classList.toggle("late", busy && waited > SOON);
    const draft = Object.values(frame?.answers ?? {}).some((answer) => answer.draft);
    const time = frame?.milliseconds === undefined ? "" : frame.milliseconds < SOON ? `${Math.round(frame.milliseconds)} ms` : `${(frame.milliseconds / 1000).toFixed(1)} s`;
    const computing = waited > SOON ? `computing, ${Math.floor(waited / 1000)} s` : draft && !behind ? "draft, refining…" : "computing…";
    const status = { computing, computed: time, refused: why ? `refused: see “${why}”` : "refused", unreachable: "no answer" }[state];
    const text = words ? `${status} · shown: ${words}` : status;
    if (text !== this.status.textContent) this.status.textContent = text;
    clearTimeout(this.timer);
    if (busy) this.timer = setTimeout(() => this.again(), SOON);
  }

  say(errors, notes) {
    const key = JSON.stringify([errors, notes]);
    if (key === this.said) return; // what is read aloud is read once
    this.said = key;
    this.messages.replaceChildren(
      ...errors.map((text) => el("p", { class: "message error" }, text)),
      ...notes.map((text) => el("p", { class: "message note" }, text)),
    );
  }

  /** `codes`: [label, lines] pairs. They are written out when somebody looks. */
  python(codes) {
    this.code = codes;
    this.showCode();
  }

  showCode() {
    const key = JSON.stringify(this.opened() ? this.code ?? [] : []);
    if (key === this.shownCode) return; // what a visitor is selecting stays selected
    this.shownCode = key;
    this.codes.replaceChildren(...JSON.parse(key).map(([label, code]) => {
      const button = el("button", { type: "button", class: "copy", "aria-label": `Copy the Python lines: ${label}` }, "Copy");
      button.addEventListener("click", () => copy(code, button));
      return el("figure", {}, el("figcaption", {}, label, button), el("pre", { tabindex: 0 }, el("code", {}, code)));
    }));
  }
}
