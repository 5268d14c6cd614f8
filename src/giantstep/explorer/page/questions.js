// One question of a card: asked again when a setting that it uses changes, and dropped when that happens too early.

import { ask, Refusal } from "./api.js";

const PATIENCE = { quick: 30, patient: 350 }; // milliseconds that the settings must rest

export class Question {
  constructor(view, uses, patient, onChange) {
    Object.assign(this, { view, uses, onChange, wait: PATIENCE[patient ? "patient" : "quick"] });
    this.key = null;
    this.answer = this.error = this.controller = undefined;
  }

  get busy() {
    return this.controller !== undefined;
  }

  /** Make sure that the answer for these settings is there or on its way. */
  want(settings) {
    const asked = this.part(settings);
    const key = JSON.stringify(asked);
    if (key === this.key) return;
    this.drop();
    this.key = key;
    const controller = (this.controller = new AbortController());
    this.timer = setTimeout(() => this.run(asked, controller), this.wait);
  }

  part(settings) {
    return Object.fromEntries(this.uses.map((name) => [name, settings[name]]));
  }

  async run(asked, controller) {
    const begun = performance.now();
    try {
      await ask(this.view, asked, controller.signal, (line) => {
        if (this.controller !== controller) return;
        this.answer = line;
        this.error = undefined;
        this.milliseconds = performance.now() - begun;
        this.onChange();
      });
    } catch (error) {
      if (this.controller !== controller) return;
      if (!(error instanceof Refusal)) console.error(error);
      this.error = error instanceof Refusal ? error.message : "The page could not read the answer.";
      this.answer = undefined;
    }
    if (this.controller !== controller) return;
    this.controller = undefined;
    this.onChange();
  }

  /** Forget the question; the server notices that nobody waits and ends its work. */
  drop() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.controller = undefined;
    this.key = null;
  }
}
