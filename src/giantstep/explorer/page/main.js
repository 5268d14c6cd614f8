// The page: settings on the left, cards on the right, and the address that carries the settings.

import { about as learn } from "./api.js";
import { Card } from "./card.js";
import { build } from "./controls.js";
import { copy, el, shown } from "./dom.js";
import { Question } from "./questions.js";
import { decode, encode, EXAMPLES } from "./state.js";
import { CARDS } from "./views.js";

const byId = (id) => document.getElementById(id);
const about = await learn();
const initial = { ...about.initial, quantity: "test_error" }; // what is shown of the curve is the page's own setting
let settings = decode(location.hash.slice(1), initial);

const alarm = el("div", { id: "alarm", role: "alert" });
byId("views").prepend(alarm);
const showSettings = build(byId("controls"), about, initial, (name, value) => change({ [name]: value }));
const cards = CARDS.map((kind) => ({ kind, card: new Card(kind), questions: new Map() }));
byId("views").append(...cards.map(({ card }) => card.element));
const simulation = new Question("simulate", about.views.simulate, false, () => refresh(cards[0]));
const [runButton, progress, remark] = simulationControls(cards[0].card);

function change(changed) {
  settings = { ...settings, ...changed };
  const text = encode(settings, initial);
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
  update();
}

/** Ask what the settings make necessary, and draw what is there. */
function update() {
  for (const entry of cards) {
    const asks = entry.kind.asks(settings);
    for (const [key, question] of entry.questions) {
      if (!(key in asks)) {
        question.drop();
        entry.questions.delete(key);
      }
    }
    for (const [key, [view, changed]] of Object.entries(asks)) {
      if (!entry.questions.has(key)) {
        entry.questions.set(key, new Question(view, about.views[view], entry.kind.patient, () => refresh(entry)));
      }
      entry.questions.get(key).want({ ...settings, ...changed });
    }
    refresh(entry);
  }
}

const pending = new Set();

/** Draw a card, at most once per frame. */
function refresh(entry) {
  if (pending.has(entry)) return;
  pending.add(entry);
  requestAnimationFrame(() => {
    pending.delete(entry);
    render(entry);
  });
}

function render(entry) {
  const { kind, card, questions } = entry;
  const answers = Object.fromEntries([...questions].map(([key, question]) => [key, question.answer]));
  if (kind.id === "curve") showSimulation(answers);
  const all = [...questions.values()];
  const times = all.map((question) => question.milliseconds).filter((time) => time !== undefined);
  card.busy(all.some((question) => question.busy), times.length ? Math.max(...times) : undefined);
  card.element.classList.toggle("failed", all.every((question) => question.error));
  kind.draw(card, answers, settings);
  card.python(kind.codes(answers).filter((pair) => pair && pair[1]));
  sayAll();
  if (kind.id === "learned") summarise(answers.learned);
}

/** A sentence that several cards have to say is said once, above them. */
function sayAll() {
  const said = cards.map(({ questions }) => new Set([...questions.values()].map((q) => q.error).filter(Boolean)));
  const count = new Map();
  for (const sentences of said) for (const text of sentences) count.set(text, (count.get(text) ?? 0) + 1);
  const common = [...count].filter(([, times]) => times > 1).map(([text]) => text);
  if (JSON.stringify(common) !== alarm.dataset.said) {
    alarm.dataset.said = JSON.stringify(common);
    alarm.replaceChildren(...common.map((text) => el("p", { class: "message error" }, text)));
  }
  cards.forEach(({ kind, card, questions }, i) => {
    const minor = new Set(kind.optional?.map((key) => questions.get(key)?.error));
    const own = [...said[i]].filter((text) => !common.includes(text));
    const notes = new Set([...questions.values()].flatMap((question) => question.answer?.notes ?? []));
    card.say(own.filter((text) => !minor.has(text)), [...own.filter((text) => minor.has(text)), ...notes]);
  });
}

function summarise(learned) {
  if (!learned) return;
  const { point, layer } = learned;
  const facts = [
    ["Test error", point.test_error, `at α = ${shown(settings.alpha, 3)}`],
    ...(point.test_error_01 === undefined ? [] : [["Wrong signs", point.test_error_01, "share, test"]]),
    ["Training error", point.train_error, "against the labels"],
    ["r", layer.r, "strength of the spike"],
    ["γ", layer.gamma, "alignment with the target"],
    ["c", layer.c, "squared row norm without it"],
  ];
  byId("summary").replaceChildren(...facts.map(([name, value, words]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, [value].flat(2).map((v) => shown(v, 4)).join(", ")), el("dd", { class: "words" }, words))));
}

function simulationControls(card) {
  const button = el("button", { type: "button", class: "primary", id: "simulate" }, "Simulate");
  const bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Progress of the simulation" });
  const text = el("span", { class: "remark", role: "status" });
  button.addEventListener("click", () => {
    if (simulation.busy) {
      simulation.drop();
      simulation.stopped = true;
    } else {
      simulation.drop();
      simulation.answer = simulation.error = undefined;
      simulation.stopped = false;
      simulation.want(settings);
      simulation.asked = simulation.key;
    }
    refresh(cards[0]);
  });
  card.actions.append(button, bar, text);
  return [button, bar, text];
}

/** Points of the simulation are shown as long as they belong to the settings. */
function showSimulation(answers) {
  const current = JSON.stringify(simulation.part(settings)) === simulation.asked;
  if (!current && simulation.busy) {
    simulation.drop();
    simulation.stopped = true;
  }
  const { answer, error, busy } = simulation;
  if (current) answers.simulation = answer;
  runButton.textContent = busy ? "Cancel" : `Simulate at d = ${settings.d}`;
  progress.hidden = !busy;
  progress.value = busy && answer ? answer.trial / answer.trials : 0;
  remark.classList.toggle("error", Boolean(current && error));
  remark.textContent = current && error ? error
    : busy ? `${answer?.trial ?? 0} of ${settings.trials} networks trained`
    : simulation.stopped ? `cancelled after ${answer?.trial ?? 0} trials`
    : current && answer ? `${answer.trial} networks; bars are standard errors` : "";
}

byId("share").addEventListener("click", (event) => copy(location.href, event.currentTarget));
byId("reset").addEventListener("click", () => adopt({ ...initial }));
byId("examples").append(el("option", { value: "" }, "choose…"), ...EXAMPLES.map(([title], i) => el("option", { value: i }, title)));
byId("examples").addEventListener("change", (event) => {
  if (event.target.value !== "") adopt(decode(EXAMPLES[Number(event.target.value)][1], initial));
});
window.addEventListener("hashchange", () => adopt(decode(location.hash.slice(1), initial)));
new ResizeObserver(() => cards.forEach(refresh)).observe(byId("views"));

function adopt(wanted) {
  settings = wanted;
  showSettings(settings);
  change({});
}

showSettings(settings);
update();
document.documentElement.dataset.ready = "true";
