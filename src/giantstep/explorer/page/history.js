// Undo and redo are the browser's own: a burst of changes is one entry of its history.

const PAUSE = 700; // milliseconds without a change that end a burst
const REST = 250; // without one after which the address is written: that costs, and browsers limit it

export class History {
  constructor(buttons, onGo) {
    this.buttons = buttons;
    this.step = history.state?.step ?? 0;
    this.last = this.step;
    this.changed = -Infinity;
    this.timer = undefined;
    buttons.undo.addEventListener("click", () => history.back());
    buttons.redo.addEventListener("click", () => history.forward());
    window.addEventListener("popstate", (event) => {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.changed = -Infinity;
      this.step = event.state?.step ?? this.step + 1; // an address that was typed has no state
      this.last = Math.max(this.last, this.step);
      history.replaceState({ step: this.step }, "");
      onGo(location.hash.slice(1));
      this.show();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    history.replaceState({ step: this.step }, "");
    this.show();
  }

  /** Take note of new settings, in the form of an address. */
  record(text) {
    const address = text ? `#${text}` : location.pathname;
    if (performance.now() - this.changed > PAUSE) {
      this.write(); // what the last burst ended with
      this.last = this.step += 1;
      history.pushState({ step: this.step }, "", address);
    } else {
      this.address = address;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.write(), REST);
    }
    this.changed = performance.now();
    this.show();
  }

  write() {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    history.replaceState({ step: this.step }, "", this.address);
  }

  show() {
    this.buttons.undo.disabled = this.step === 0;
    this.buttons.redo.disabled = this.step >= this.last;
  }

  key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches?.("input[type=text]")) return;
    const redo = event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
    if (!redo && event.key !== "z") return;
    event.preventDefault();
    (redo ? this.buttons.redo : this.buttons.undo).click(); // a disabled button does nothing
  }
}
