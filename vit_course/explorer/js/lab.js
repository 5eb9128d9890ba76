// Runs changes of the model ("Test it"). A lab computes them: in a kernel, or in the live page's worker. A saved page
// has no lab, only the results from before it was saved.
//
// A lab is {some, ask(panel, changes, maps)}: how many changes it takes at once, and a function that promises
//   null      the result is not needed any more, as another picture came
//   {words}   it failed, for this reason, as a sentence
//   or else   {rows, says, described, data}: rows is a Float32Array (n, T); if maps were asked for, of one change, says
//             are the predictions of the changed model, and described and data its panel with the bytes
// late(): the sentence to show when no answer has come after `patience` milliseconds, or "".

import { floats } from "../../_support/widgets/js/bytes.js";
import { ask } from "../../_support/widgets/js/kernel.js";
import { key } from "./effects.js";

const PATIENCE = 20_000; // milliseconds
const LATE = "Python has not answered yet: another cell may be running. If the kernel was restarted, run this cell again.";
export const NOBODY = "A saved page has no model: only what was computed before it was saved is here. In a notebook or on the live page of the course, every part can be removed.";

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
  // Queues the changes of one panel's model, one question at a time. `out` is the change that the user has chosen,
  // `known` holds the results so far, `words` says why there is none, and `told` is the last answer with maps.
  constructor(index, lab) {
    Object.assign(this, { index, lab, out: [], known: new Map(), words: "", told: null, last: Promise.resolve() });
    this.covering = false; // whether clicks on the photograph hide patches
  }

  // Attaches the bench to a panel of its model.
  sit(panel, schedule) {
    Object.assign(this, { panel, schedule });
    panel.known = this.known;
  }

  get hidden() {
    return this.out.find(({ kind }) => kind === "hide")?.patches ?? [];
  }

  // Whether the result of a change can be had: there is a lab, nothing is removed, or the result is known.
  can(out) {
    return !!this.lab || !out.length || this.known.has(key(out));
  }

  // still(): whether the question is still wanted when its turn comes.
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
  // The benches of all panels, and whether the changed model is shown beside the unchanged one.
  constructor(benches = [], compared = false, compare = () => {}) {
    Object.assign(this, { benches, compared, compare });
  }

  get any() {
    return this.benches.some(({ lab, panel }) => lab || panel.tested?.length);
  }

  // The bench of the model that a panel shows.
  of(panel) {
    return this.benches.find((one) => one.panel === panel && !panel.changed_model) ?? this.benches[0];
  }

  covering(panel) {
    return !!this.of(panel)?.covering;
  }

  // Hides or shows the clicked patch, if clicks currently hide patches. -> whether it has used the click.
  covers(panel, token) {
    if (!this.covering(panel) || token < panel.prefix) return false;
    this.of(panel).patch(token);
    return true;
  }

  stop() {
    // Ends hiding by clicks. -> whether it was on.
    const on = this.benches.filter(({ covering }) => covering);
    for (const bench of on) bench.covering = false;
    return on.length > 0;
  }

  renewed(panel) {
    // The panel shows another picture now, so all results are dropped.
    const bench = this.of(panel);
    bench.known.clear();
    Object.assign(bench, { out: [], told: null, words: "" }).sit(panel, bench.schedule);
  }

  hidden(panel) {
    // The patches that are hidden in a panel; while models are compared, only those of the changed model.
    return this.compared && !panel.changed_model ? [] : this.of(panel)?.hidden ?? [];
  }

  // The hint to show beside the photograph, or "".
  hint(panel, touch) {
    const bench = this.of(panel), verb = touch ? "Tap" : "Click";
    if (bench?.covering) return `${verb} patches to hide them from the model, or to show them again. ${touch ? "" : "Escape ends this."}`.trim();
    return bench?.out.length && !this.compared ? "A part is removed, but the light still shows the map of the whole model: compare the maps below." : "";
  }
}

export class Sweep {
  // Computes a family of changes in groups, until all results are known, it is stopped, or it fails.
  constructor(bench, changes, each) {
    Object.assign(this, { bench, changes, each, stopped: false, words: "" });
  }

  get missing() {
    return this.changes.filter((change) => !this.bench.known.has(key(change)));
  }

  get next() {
    // The last layers first, as they cost least. Within a layer, the order is spread over the picture by the golden
    // ratio, so that the results so far are always a fair sample.
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
