// Who answers where something is to be taken out of the model: a kernel, the live page's worker, or nobody, where a page
// only holds what was computed before.
//
// A lab is {some, ask(panel, changes, maps)}: how many changes it takes at once, and a promise of
//   null      nobody waits any more: another picture came
//   {words}   it could not be done: a sentence
//   or else   {rows, says, described, data}: Float32Array (n, T); where maps were asked for, of one change, what the
//             changed model says and a panel of it with its bytes
// late(): what is said when no answer has come after `patience` milliseconds, or "".

import { floats } from "../../_support/widgets/js/bytes.js";
import { ask } from "../../_support/widgets/js/kernel.js";
import { key } from "./effects.js";

const PATIENCE = 20_000; // milliseconds
const LATE = "Python has not answered yet: another cell may be running. If the kernel was restarted, run this cell again.";
export const NOBODY = "This page holds what was computed before it was saved. A notebook and the live page of the course compute the rest.";

export function kernelLab(model) {
  return {
    some: 8,
    late: () => LATE,
    ask: async (panel, changes, maps) => {
      const { error, buffers: [rows, data], ...told } = await ask(model, { panel, changes, maps });
      return error ? { words: error } : { ...told, rows: floats(rows), data };
    },
  };
}

export class Bench {
  // What is asked of the model of one panel, one question after the other; `out` is what is taken out of it, `known`
  // what was computed by now, `words` why something was not, `told` the last answer with maps.
  constructor(index, lab) {
    Object.assign(this, { index, lab, out: [], known: new Map(), words: "", told: null, last: Promise.resolve() });
    this.covering = false; // whether clicks on the photograph hide patches
  }

  // A panel of this model is shown.
  sit(panel, schedule) {
    Object.assign(this, { panel, schedule });
    panel.known = this.known;
  }

  get hidden() {
    return this.out.find(({ kind }) => kind === "hide")?.patches ?? [];
  }

  // Whether this can be answered.
  can(out) {
    return !!this.lab || !out.length || this.known.has(key(out));
  }

  // still(): whether it is wanted when its turn comes.
  async ask(changes, maps = false, still = () => true) {
    if (!this.lab) return changes.every((change) => this.can(change)) ? {} : { words: NOBODY };
    const turn = this.last.then(() => (still() ? this.waited(changes, maps) : null));
    this.last = turn.catch(() => {});
    const told = await turn.catch((error) => ({ words: `This could not be computed: ${error.message}.` }));
    if (!told || told.words) return told;
    const { tokens } = this.panel;
    changes.forEach((change, i) => {
      const says = told.says ?? this.known.get(key(change))?.says;
      this.known.set(key(change), { row: told.rows.slice(i * tokens, (i + 1) * tokens), says });
    });
    return told;
  }

  async waited(changes, maps) {
    let said = "";
    const { late, patience = PATIENCE } = this.lab, say = () => ((this.words = said = late()), this.schedule());
    const waiting = setTimeout(say, patience);
    try {
      return await this.lab.ask(this.index, changes, maps);
    } finally {
      clearTimeout(waiting);
      if (this.words === said) this.words = "";
    }
  }
}

export class Tests {
  // What is tested on a page: for each panel its bench, and whether the changed model stands beside itself.
  constructor(benches = [], compared = false, compare = () => {}) {
    Object.assign(this, { benches, compared, compare });
  }

  get any() {
    return this.benches.some(({ lab, panel }) => lab || panel.tested?.length);
  }

  // Whose model a panel shows.
  of(panel) {
    return this.benches.find((one) => one.panel === panel && !panel.changed_model) ?? this.benches[0];
  }

  covering(panel) {
    return !!this.of(panel)?.covering;
  }

  // A click on a patch while patches are hidden by clicks. -> whether it was one.
  covers(panel, token) {
    if (!this.covering(panel) || token < panel.prefix) return false;
    this.of(panel).patch(token);
    return true;
  }

  stop() {
    // -> whether patches were hidden by clicks until now.
    const on = this.benches.filter(({ covering }) => covering);
    for (const bench of on) bench.covering = false;
    return on.length > 0;
  }

  renewed(panel) {
    // It shows another picture, of which nothing is known yet.
    const bench = this.of(panel);
    bench.known.clear();
    Object.assign(bench, { out: [], told: null, words: "" }).sit(panel, bench.schedule);
  }

  hidden(panel) {
    // Patches that are taken from the model behind a panel; beside each other, from the changed one alone.
    return this.compared && !panel.changed_model ? [] : this.of(panel)?.hidden ?? [];
  }

  // What is to be known beside the photograph, or "".
  hint(panel, touch) {
    const bench = this.of(panel), verb = touch ? "Tap" : "Click";
    if (bench?.covering) return `${verb} patches to hide them from the model, or to show them again. ${touch ? "" : "Escape ends this."}`.trim();
    return bench?.out.length && !this.compared ? "A part is removed, but this light is still that of the whole model: compare the maps, below." : "";
  }
}

export class Sweep {
  // Asks for one change after the other, until all are known, somebody stops it, or it cannot be done.
  constructor(bench, changes, each) {
    Object.assign(this, { bench, changes, each, stopped: false, words: "" });
  }

  get missing() {
    return this.changes.filter((change) => !this.bench.known.has(key(change)));
  }

  get next() {
    // The last layers first, as they cost least; in one layer spread over the picture, by the golden ratio, so that
    // what is there at any moment stands for the whole.
    const place = new Map(this.changes.map((change, i) => [change, (i * 0.618034) % 1 - (change[0].layer ?? 0)]));
    return this.missing.sort((a, b) => place.get(a) - place.get(b));
  }

  get running() {
    return !!this.going && !this.stopped;
  }

  async run() {
    this.going = true;
    while (!this.stopped && this.missing.length) {
      const told = await this.bench.ask(this.next.slice(0, this.bench.lab?.some ?? 1));
      if (!told || told.words) [this.stopped, this.words] = [true, told?.words ?? ""];
      this.each();
    }
    this.stopped = true;
    this.each();
  }

  stop() {
    this.stopped = true;
  }
}
