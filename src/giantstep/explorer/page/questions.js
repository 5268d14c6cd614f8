// One question of a card: asked again when a setting that it uses changes, and dropped when that happens too early.

import { ask, Refusal } from "./api.js";

const REST = 350; // milliseconds that the settings must rest before something slow is asked
const LATE = 500; // after which a quick question is dropped for a newer one

export class Question {
  constructor(view, uses, patient, onChange) {
    Object.assign(this, { view, uses, patient, onChange });
    this.key = null;
    this.next = this.timer = this.answer = this.error = this.controller = undefined;
  }

  get busy() {
    return this.controller !== undefined || this.timer !== undefined;
  }

  /**
   * Make sure that the answer for these settings is there or on its way. While a slider moves, quick questions follow
   * one another, each with the newest settings; slow ones wait until it rests.
   */
  want(settings) {
    const asked = this.part(settings);
    const key = JSON.stringify(asked);
    if (key === this.key) return;
    this.key = key;
    this.next = asked;
    if (this.patient) {
      this.halt();
      this.timer = setTimeout(() => this.start(), REST);
    } else if (!this.controller) {
      this.start();
    } else {
      this.timer ??= setTimeout(() => this.start(), Math.max(0, LATE - (performance.now() - this.begun)));
    }
  }

  start() {
    this.halt();
    const asked = this.next;
    this.next = undefined;
    this.begun = performance.now();
    this.controller = new AbortController();
    this.run(asked, this.controller, this.begun);
  }

  part(settings) {
    return Object.fromEntries(this.uses.map((name) => [name, settings[name]]));
  }

  async run(asked, controller, begun) {
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
    if (this.next) this.start();
    this.onChange();
  }

  /** Stop waiting; the server notices and ends its work. */
  halt() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.timer = this.controller = undefined;
  }

  /** Forget the question. */
  drop() {
    this.halt();
    this.key = null;
    this.next = undefined;
  }
}
