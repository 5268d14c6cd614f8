// The page: settings on the left, cards on the right, and the address that carries the settings.

import { about as learn } from "./api.js";
import { Card } from "./card.js";
import { Controls } from "./controls.js";
import { copy, el } from "./dom.js";
import { History } from "./history.js";
import { PRESETS } from "./presets.js";
import { Rounds } from "./rounds.js";
import { Simulation } from "./simulation.js";
import { decode, difference, encode, initialOf, MOST_PINS } from "./state.js";
import { summarise } from "./summary.js";
import { CARDS } from "./views.js";

const byId = (id) => document.getElementById(id);
const alarm = byId("alarm");
const say = (...sentences) => alarm.replaceChildren(...sentences.map((text) => el("p", { class: "message error" }, text)));

/** Plotly's script, from the server. */
const charts = (version) => new Promise((resolve, reject) => {
  document.head.append(el("script", { src: `plotly.min.js?${version}`, onload: resolve, onerror: reject }));
});

async function begin() {
  const about = await learn();
  if (!about.plotly) throw new Error(about.missing);
  const page = new Page(about); // the form and the first questions do not wait for the charts
  await charts(about.plotly).catch(() => {
    throw new Error("The charts could not be loaded; is giantstep explore still running?");
  });
  page.cards.forEach((entry) => page.refresh(entry));
  document.documentElement.dataset.ready = "true";
}

const BESIDE = 250; // milliseconds between two questions, and two pictures, of a card beside the curve while a hand moves
const same = (some, others) => some.length === others?.length && some.every((value, i) => value === others[i]);

class Page {
  constructor(about) {
    this.about = about;
    this.initial = initialOf(about.controls);
    this.settings = decode(location.hash.slice(1), this.initial);
    this.pending = new Set();
    for (const place of ["controls", "stage"]) byId(place).replaceChildren();
    this.controls = new Controls(byId("controls"), about, (changed) => this.change(changed));
    this.history = new History({ undo: byId("undo"), redo: byId("redo") }, (text) => this.adopt(decode(text, this.initial)));
    this.cards = CARDS.map((kind) => this.card(kind));
    const { card } = this.cards[0];
    this.simulation = new Simulation(card, about.views.simulate.uses, () => this.settings, () => this.refresh(this.cards[0]));
    this.pins = el("span", { class: "pins" });
    card.actions.append(el("button", { type: "button", id: "pin", title: "Keep these curves in grey, to compare", onclick: () => this.pin() }, "Pin"), this.pins);
    this.buttons();
    this.introduce();
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", () => this.cards.forEach((entry) => this.refresh(entry)));
    this.adopt(this.settings);
  }

  card(kind) {
    const entry = { kind, until: 0, pace: kind.id === "curve" ? 0 : BESIDE };
    entry.card = new Card(kind, kind.pick && ((point) => this.pick(kind.pick(point, this.settings))));
    entry.rounds = new Rounds({ asks: kind.asks, main: kind.main, pace: entry.pace }, this.about.views, () => this.refresh(entry));
    entry.card.again = () => this.refresh(entry);
    (kind.id === "curve" ? byId("stage") : byId("views")).append(entry.card.element);
    new IntersectionObserver(([{ isIntersecting }]) => {
      entry.visible = isIntersecting; // what is out of sight is asked when the settings rest, and drawn when it is seen
      entry.rounds.patient = !isIntersecting;
      this.refresh(entry);
    }).observe(entry.card.element);
    return entry;
  }

  buttons() {
    byId("share").addEventListener("click", (event) => {
      this.history.write();
      copy(location.href, event.currentTarget);
    });
    byId("reset").addEventListener("click", () => this.take({ ...this.initial }));
    const examples = byId("examples");
    examples.append(el("option", { value: "" }, "choose…"), ...Object.entries(PRESETS).map(([group, list]) =>
      el("optgroup", { label: group }, ...list.map(([title, text]) => el("option", { value: `#${text}` }, title)))));
    this.examples = new Map(Object.values(PRESETS).flat().map(([, text]) => [encode(decode(text, this.initial), this.initial), `#${text}`]));
    examples.addEventListener("change", () => {
      if (examples.value) this.take(decode(examples.value.slice(1), this.initial));
    });
  }

  /** The words on top stay closed once a visitor has closed them. */
  introduce() {
    const intro = byId("intro"), name = "giantstep intro";
    try {
      intro.open = localStorage.getItem(name) !== "closed";
      intro.addEventListener("toggle", () => localStorage.setItem(name, intro.open ? "open" : "closed"));
    } catch {
      return; // a browser that keeps nothing
    }
  }

  /** A change by hand: it may be one of many, so the answers may be drafts. */
  change(changed) {
    this.settings = { ...this.settings, ...changed };
    this.history.record(encode(this.settings, this.initial));
    if (Object.keys(changed).length > 1 || "layer" in changed || "inputs" in changed) this.controls.show(this.settings);
    this.update(false);
  }

  /** A change by a click on a picture. */
  pick(changed) {
    this.change(changed);
    this.controls.show(this.settings);
  }

  /** Other settings altogether, as a step of the history. */
  take(settings) {
    this.history.record(encode(settings, this.initial));
    this.adopt(settings);
  }

  adopt(settings) {
    this.settings = settings;
    this.controls.show(settings);
    this.update(true);
  }

  pin() {
    const { pins, ...rest } = this.settings;
    const pin = encode(rest, this.initial);
    const { frame, behind } = this.cards[0].rounds;
    if (pins.includes(pin) || !frame || behind) return; // there is nothing to keep before there is an answer
    this.take({ ...this.settings, pins: [...pins, pin].slice(-MOST_PINS) });
  }

  /** What is pinned, as settings with words for the legend. */
  readPins() {
    this.pinned = this.settings.pins.map((text) => {
      const pin = decode(text, this.initial);
      return { ...pin, words: difference(pin, this.settings, this.about.controls) || "these settings" };
    });
    const words = this.pinned.map((pin) => pin.words).join("\n");
    if (words === this.pins.dataset.words) return;
    this.pins.dataset.words = words;
    this.pins.replaceChildren(...this.settings.pins.map((text, i) => el("button", {
      type: "button", class: "unpin", title: "Take this pin away", "aria-label": `Unpin ${this.pinned[i].words}`,
      onclick: () => this.take({ ...this.settings, pins: this.settings.pins.filter((other) => other !== text) }),
    }, `${this.pinned[i].words} ×`)));
  }

  /** Ask what the settings make necessary, and draw what is there. */
  update(atRest) {
    this.readPins();
    byId("examples").value = this.examples.get(encode(this.settings, this.initial)) ?? "";
    const well = this.controls.mark(this.settings, new Map());
    for (const entry of this.cards) {
      if (well) entry.rounds.want({ ...this.settings, pinned: this.pinned }, atRest);
      this.refresh(entry);
    }
  }

  /** Where a card stands. Settings that the form itself refuses are not asked for, and what is shown is of others. */
  standing({ rounds }) {
    const { state, behind, stale, busy, progress, round, frame } = rounds;
    const { wrong } = this.controls;
    if (wrong) return { state: "refused", behind: Boolean(frame), stale: Boolean(frame), busy: false, frame, why: wrong };
    const field = state === "refused" && Object.values(round?.errors ?? {}).find((error) => error.field)?.field;
    return { state, behind, stale, busy, progress, round, frame, why: field && this.controls.fields.get(field).control.label };
  }

  /** Of which settings a picture is, in what they differ from the form's. */
  shownSettings({ kind, rounds: { frame } }) {
    const uses = new Set(Object.values(kind.asks({ ...frame.settings })).flatMap(([view]) => this.about.views[view].uses));
    return difference(frame.settings, this.settings, this.about.controls.filter(({ name }) => uses.has(name)));
  }

  /** Draw a card, at most once per frame. */
  refresh(entry) {
    if (this.pending.has(entry)) return;
    this.pending.add(entry);
    requestAnimationFrame(() => {
      this.pending.delete(entry);
      this.render(entry);
    });
  }

  render(entry) {
    const { kind, card, rounds } = entry;
    const standing = this.standing(entry), words = standing.behind ? this.shownSettings(entry) : "";
    card.show(standing, words);
    if (kind.id === "learned") summarise(byId("summary"), standing, words);
    const points = kind.id === "curve" ? this.simulation.show() : undefined;
    if (rounds.frame && entry.visible && window.Plotly) this.draw(entry, points);
    this.complain();
  }

  /** Draw what has changed: the answers, or what the picture marks of the settings. */
  draw(entry, points) {
    const { kind, card, rounds: { frame, behind, moving } } = entry;
    const settings = behind ? frame.settings : { ...this.settings, pinned: this.pinned };
    const answers = { ...frame.answers, ...(points && !behind && { simulation: points }) };
    const drawn = [frame.id, moving, this.dark.matches, ...Object.values(answers), ...(kind.marks?.(settings) ?? [])];
    if (same(drawn, entry.drawn) || (behind && frame === entry.frame)) return;
    const now = performance.now();
    if (now < entry.until) return this.later(entry, entry.until - now);
    Object.assign(entry, { drawn, frame, until: now + entry.pace });
    const plot = kind.plot(answers, settings), words = typeof plot === "string";
    if (!words) card.chart.draw(plot, moving);
    card.element.classList.toggle("empty", words);
    card.facts.textContent = words ? plot : plot.facts ?? "";
    card.python(Object.entries(kind.codes).map(([key, label]) => [label, answers[key]?.code]).filter(([, code]) => code));
    return undefined;
  }

  later(entry, milliseconds) {
    entry.timer ??= setTimeout(() => {
      entry.timer = undefined;
      this.refresh(entry);
    }, milliseconds);
  }

  /** Refusals stand at their field; one that several cards have to say is said once, above them. */
  complain() {
    const fields = new Map(), count = new Map();
    const said = this.cards.map(({ rounds }) => {
      const current = rounds.round?.id === rounds.wanted?.id ? rounds.round : undefined;
      return Object.entries(current?.errors ?? {}).map(([key, error]) =>
        key.startsWith("pin") ? { text: `A pinned setting was refused: ${error.text}` } : error);
    });
    for (const errors of said) {
      for (const { text, field } of errors) if (field) fields.set(field, text);
      for (const text of new Set(errors.filter(({ field }) => !field).map(({ text }) => text))) count.set(text, (count.get(text) ?? 0) + 1);
    }
    this.controls.mark(this.settings, fields);
    const common = [...count].filter(([, times]) => times > 1).map(([text]) => text);
    if (JSON.stringify(common) !== alarm.dataset.said) {
      alarm.dataset.said = JSON.stringify(common);
      say(...common);
    }
    this.cards.forEach(({ card, rounds }, i) => {
      const own = [...new Set(said[i].filter(({ text, field }) => !field && !common.includes(text)).map(({ text }) => text))];
      const notes = new Set(Object.values(rounds.frame?.answers ?? {}).flatMap((answer) => answer.notes ?? []));
      const minor = rounds.refusal === undefined && rounds.frame !== undefined;
      card.say(minor ? [] : own, [...(minor ? own : []), ...notes]);
    });
  }
}

begin().catch((error) => {
  say(error.message);
  document.documentElement.dataset.ready = "failed";
});
