// What a card asks, in rounds: all answers of a round belong to the same settings, and only they are drawn together.
//
// While the settings move, rounds follow one another, each with the newest settings and with drafts of what is slow;
// when they rest, a last round refines. A round that has begun is not dropped for a newer one before it has shown
// something, unless it takes long.

import { ask, trouble } from "./api.js";

const REST = 200; // milliseconds without a change after which the settings count as at rest
const FAST = 60; // answers that take less need no draft
const PATIENCE = { full: 300, draft: 700 }; // after which a round shows what it has, if that is enough for a picture
const LATE = 1500; // after which a round gives way to newer settings even if it has shown nothing
const GRACE = 200; // that a picture may be behind a moving hand before it fades
const MEMORY = 40; // answers kept, so that what has not changed is not asked again

export class Rounds {
  /**
   * `asks(settings)`: {key: [view, changed settings, {patient}]}; `main`: keys of which one makes a picture; `pace`:
   * milliseconds between two rounds while the settings move.
   */
  constructor({ asks, main, pace }, views, onChange) {
    Object.assign(this, { asks, main, pace, views, onChange });
    this.patient = false; // ask nothing before the settings rest
    this.memory = new Map();
    this.took = new Map(); // milliseconds of the last full answer of each view
    this.wanted = this.round = this.frame = this.refusal = this.timer = this.fading = this.moved = undefined;
    this.follows = false;
  }

  /** Whether the picture is of other settings than those wanted. */
  get behind() {
    return this.frame !== undefined && this.frame.id !== this.wanted.id;
  }

  /** Whether it should fade: at once, but for a picture that follows a moving hand. */
  get stale() {
    return this.behind && !(this.follows && performance.now() - this.moved < GRACE);
  }

  /** "computing", "computed", "refused" or "unreachable": where the answers for the settings as they are stand. */
  get state() {
    const { round } = this, errors = Object.values((round?.id === this.wanted?.id && round?.errors) || {});
    if (errors.some(({ unreachable }) => unreachable)) return "unreachable";
    if (this.refusal && !this.busy) return "refused";
    return this.busy || !this.frame || this.behind ? "computing" : "computed";
  }

  get moving() {
    return this.timer !== undefined;
  }

  get busy() {
    return this.moving || (this.round?.pending.size ?? 0) > 0;
  }

  /** The share of the slowest question that is done, if it says so. */
  get progress() {
    const shares = Object.values(this.round?.progress ?? {});
    return this.busy && shares.length ? Math.min(...shares) : undefined;
  }

  /** Make sure that the answers for these settings are there or on their way. */
  want(settings, atRest = false) {
    const wanted = plan(this.asks(settings), settings, this.views);
    if (wanted.id === this.wanted?.id && !atRest) return;
    if (!this.behind) this.moved = performance.now();
    this.follows = !atRest;
    this.wanted = wanted;
    clearTimeout(this.fading);
    this.fading = setTimeout(() => this.onChange(), GRACE + 10);
    clearTimeout(this.timer);
    this.timer = undefined;
    if (atRest) return this.rest();
    this.timer = setTimeout(() => this.rest(), REST);
    if (this.patient) this.halt();
    else if (this.free()) this.start(true);
    return undefined;
  }

  /** Whether newer settings need not wait for what is being asked. */
  free() {
    const { round } = this;
    if (!round?.pending.size) return !this.early;
    const draftable = !round.drafting && this.frame && [...round.pending].some((key) => this.views[round.questions[key].view].drafts);
    return performance.now() - round.begun > (draftable ? FAST : LATE);
  }

  /** Whether the last round is too recent for another one beside a moving hand. */
  get early() {
    return this.moving && this.round !== undefined && performance.now() - this.round.begun < this.pace;
  }

  rest() {
    this.timer = undefined;
    const { round } = this;
    const working = round?.pending.size > 0;
    if (working && round.id === this.wanted.id && round.drafting) return; // it is followed by a full one
    if (working && round.id !== this.wanted.id && !this.frame && performance.now() - round.begun < LATE) return;
    if (round?.id !== this.wanted.id || round.drafting) this.start(false);
    else this.onChange();
  }

  start(drafting) {
    const before = this.round?.id === this.wanted.id ? this.round : undefined;
    this.halt();
    const { id, questions, settings } = this.wanted;
    const round = {
      id, settings, drafting: false, questions, begun: performance.now(), controller: new AbortController(),
      patience: drafting ? PATIENCE.draft : PATIENCE.full,
      answers: { ...before?.answers }, errors: {}, progress: {}, pending: new Set(), milliseconds: before?.milliseconds,
    };
    this.round = round;
    for (const [key, question] of Object.entries(questions)) {
      const known = this.memory.get(question.id);
      if (known) round.answers[key] = known;
      else if (drafting && question.patient) round.drafting = true;
      else this.put(round, key, question, drafting && this.views[question.view].drafts && !(this.took.get(question.view) < FAST));
    }
    setTimeout(() => this.show(round), round.patience);
    if (!round.pending.size) this.done(round);
    this.onChange();
  }

  async put(round, key, question, draft) {
    round.pending.add(key);
    if (draft) round.drafting = true;
    const { signal } = round.controller, begun = performance.now();
    try {
      await ask(question.view, question.part, { draft, signal }, (line) => {
        if (this.round !== round) return;
        if (line.progress !== undefined) round.progress[key] = line.progress;
        else this.answered(round, key, question, line, performance.now() - begun);
        this.show(round);
      });
    } catch (error) {
      if (this.round !== round) return;
      round.errors[key] = trouble(error);
    }
    if (this.round !== round) return;
    round.pending.delete(key);
    delete round.progress[key];
    if (!round.pending.size) this.done(round);
    this.onChange();
  }

  answered(round, key, question, line, milliseconds) {
    round.answers[key] = line;
    round.milliseconds = milliseconds;
    if (line.draft || line.trial !== undefined) return;
    this.took.set(question.view, milliseconds);
    this.memory.set(question.id, line);
    if (this.memory.size > MEMORY) this.memory.delete(this.memory.keys().next().value);
  }

  done(round) {
    this.show(round);
    if (round.id !== this.wanted.id && this.early) return; // the next change asks, or the rest
    if (round.id !== this.wanted.id) this.start(this.moving);
    else if (round.drafting && !this.moving) this.start(false);
  }

  /** Take the round as the picture, once it is complete or has taken long; never a part of it beside another's. */
  show(round) {
    if (this.round !== round) return;
    const enough = this.main.some((key) => round.answers[key]);
    const failed = !enough && this.main.some((key) => round.errors[key]) && !round.pending.size;
    this.refusal = failed ? round : undefined;
    const waited = performance.now() - round.begun >= round.patience;
    if (enough && (this.frame?.id === round.id || !round.pending.size || waited)) {
      this.frame = round;
      this.moved = performance.now();
    }
    this.onChange();
  }

  /** Stop waiting; the server notices and ends its work. */
  halt() {
    for (const key of this.round?.pending ?? []) this.took.set(this.round.questions[key].view, performance.now() - this.round.begun);
    this.round?.controller.abort();
    this.round = undefined;
  }
}

/** The questions for given settings, and a text that is equal for equal ones. */
function plan(asks, settings, views) {
  const questions = Object.fromEntries(Object.entries(asks).map(([key, [view, changed, { patient } = {}]]) => {
    const part = partOf({ ...settings, ...changed }, views[view].uses);
    return [key, { view, part, patient, id: `${view} ${JSON.stringify(part)}` }];
  }));
  return { settings, questions, id: Object.entries(questions).map(([key, { id }]) => `${key} ${id}`).join("\n") };
}

/** The settings that a view uses; a curve does not depend on the value of what it runs along. */
export function partOf(settings, uses) {
  const used = uses.filter((name) => !(uses.includes("along") && name === settings.along));
  return Object.fromEntries(used.map((name) => [name, settings[name]]));
}
