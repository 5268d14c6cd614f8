// Trained networks on the learning curve: asked for by a button, shown as long as they belong to the settings.

import { ask, trouble } from "./api.js";
import { el } from "./dom.js";
import { partOf } from "./rounds.js";

export class Simulation {
  constructor(card, uses, current, onChange) {
    Object.assign(this, { uses, current, onChange });
    this.asked = this.answer = this.error = this.controller = undefined;
    this.stopped = false;
    this.button = el("button", { type: "button", class: "primary", id: "simulate", onclick: () => this.press() }, "Simulate");
    this.bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Progress of the simulation" });
    this.remark = el("span", { class: "remark", role: "status" });
    card.actions.append(this.button, this.bar, this.remark);
  }

  key() {
    return JSON.stringify(partOf(this.current(), this.uses));
  }

  press() {
    if (this.controller) this.stop();
    else this.run();
    this.onChange();
  }

  stop() {
    this.controller?.abort();
    this.controller = undefined;
    this.stopped = true;
  }

  async run() {
    const controller = new AbortController();
    Object.assign(this, { controller, asked: this.key(), answer: undefined, error: undefined, stopped: false });
    const part = partOf(this.current(), this.uses);
    try {
      await ask("simulate", part, { signal: controller.signal }, (line) => {
        if (this.controller !== controller || line.progress !== undefined) return;
        this.answer = line;
        this.onChange();
      });
    } catch (error) {
      if (this.controller !== controller) return;
      this.error = trouble(error).text;
    }
    if (this.controller !== controller) return;
    this.controller = undefined;
    this.onChange();
  }

  /** Show where it stands; returns the points if they belong to the settings. */
  show() {
    const mine = this.key() === this.asked, { d, trials } = this.current();
    if (!mine && this.controller) this.stop();
    const { answer, error, controller } = this, done = answer?.trial ?? 0;
    this.button.textContent = controller ? "Cancel" : `Simulate at d = ${d}`;
    this.bar.hidden = !controller;
    this.bar.value = controller && answer ? done / answer.trials : 0;
    this.remark.classList.toggle("error", Boolean(mine && error));
    this.remark.textContent = mine && error ? error
      : controller ? `${done} of ${trials} networks trained`
      : this.stopped ? `cancelled after ${done} trials`
      : mine && answer ? `${done} networks; bars are standard errors` : "";
    return mine ? answer : undefined;
  }
}
