// Who answers where something is to be taken out of the model: a kernel, the live page's worker, or nobody, where a page
// only holds what was computed before.
//
// A lab is {some, ask(panel, changes, maps)}: how many changes it takes at once, and a promise of
//   null      nobody waits any more: another picture came
//   {words}   it could not be done: a sentence
//   or else   {rows, says, described, data}: Float32Array (n, T); where maps were asked for, of one change, what the
//             changed model says and a panel of it with its bytes
// late, if it has such words: what is said when no answer has come after `patience` milliseconds.

import { floats } from "../../widgets/js/bytes.js";
import { key } from "./effects.js";

const PATIENCE = 20_000; // milliseconds
const LATE = "Python has not answered yet: another cell may be running. If the kernel was restarted, run this cell again.";
const NOBODY = "This was not computed before the page was saved. In a notebook, or on the live page of the course, it is.";

export function kernelLab(model) {
  let last = 0;
  return {
    some: 8,
    late: LATE,
    ask: (panel, changes, maps) => new Promise((done) => {
      const number = ++last;
      const heard = (told, buffers) => {
        if (told.number !== number) return;
        model.off("msg:custom", heard);
        if (told.words) return done({ words: told.words });
        const [rows, data] = buffers.map((one) => new Uint8Array(one.buffer ?? one, one.byteOffset ?? 0, one.byteLength));
        done({ ...told, rows: floats(rows), data });
      };
      model.on("msg:custom", heard);
      model.send({ number, panel, changes, maps });
    }),
  };
}

export class Bench {
  // What is asked of the model of one panel, one question after the other; `out` is what is taken out of it, `known`
  // what was computed by now, `words` why something was not, `told` the last answer with maps.
  constructor(index, lab) {
    Object.assign(this, { index, lab, out: [], known: new Map(), words: "", told: null, last: Promise.resolve() });
  }

  // A panel of this model is shown.
  sit(panel, schedule) {
    Object.assign(this, { panel, schedule });
    panel.known = this.known;
  }

  get hidden() {
    return this.out.find(({ kind }) => kind === "hide")?.patches ?? [];
  }

  async ask(changes, maps = false) {
    const there = changes.every((change) => this.known.has(key(change)));
    if (!this.lab) return there ? {} : { words: NOBODY };
    const turn = this.last.then(() => this.waited(changes, maps));
    this.last = turn.catch(() => {});
    const told = await turn.catch((error) => ({ words: `That could not be asked: ${error.message}.` }));
    if (!told || told.words) return told;
    const { tokens } = this.panel;
    changes.forEach((change, i) => {
      const says = told.says ?? this.known.get(key(change))?.says;
      this.known.set(key(change), { row: told.rows.slice(i * tokens, (i + 1) * tokens), says });
    });
    return told;
  }

  async waited(changes, maps) {
    const { late, patience: patient = PATIENCE } = this.lab, patience = late && setTimeout(() => ((this.words = late), this.schedule()), patient);
    try {
      return await this.lab.ask(this.index, changes, maps);
    } finally {
      clearTimeout(patience);
      if (this.words === late) this.words = "";
    }
  }
}

export class Tests {
  // What is tested on a page: for each panel its bench, and whether the changed model stands beside itself.
  constructor(benches = [], compared = false, compare = () => {}) {
    // covering(panel, token): takes clicks on the photograph, while patches are hidden by them.
    Object.assign(this, { benches, compared, compare, covering: null });
  }

  get any() {
    return this.benches.some(({ lab, panel }) => lab || panel.tested?.length);
  }

  renewed(panel) {
    // It shows another picture, of which nothing is known yet.
    const bench = this.benches.find((one) => one.panel === panel);
    bench.known.clear();
    Object.assign(bench, { out: [], told: null, words: "" }).sit(panel, bench.schedule);
  }

  hidden(panel) {
    // Patches that the model behind a panel could not read.
    const bench = this.benches.find((one) => one.panel === panel);
    return this.compared ? (panel.changed_model ? this.benches[0].hidden : []) : bench?.hidden ?? [];
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
