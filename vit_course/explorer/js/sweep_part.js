// A button that has a family of changes computed, how far it is, and a button that stops it.

import { button, element } from "../../widgets/js/element.js";
import { Sweep } from "./lab.js";

export class SweepPart {
  constructor(state, words) {
    Object.assign(this, { state, words });
    this.start = button("", () => this.run());
    this.halt = button("Stop", () => this.sweep?.stop());
    this.bar = element("progress", { "aria-label": words.progress });
    this.said = element("p", { class: "vit-part-note", role: "status" });
    this.node = element("div", { class: "vit-sweep" }, this.start, this.bar, this.halt, this.said);
  }

  // bench: whose changes; changes: all of them.
  draw(bench, changes) {
    if (this.bench !== bench || this.changes !== changes) {
      this.sweep?.stop();
      Object.assign(this, { bench, changes, begun: false, sweep: new Sweep(bench, changes, () => this.state.schedule()) });
    }
    const missing = this.sweep.missing.length, { running } = this.sweep;
    this.start.hidden = running || !missing || !bench.lab;
    this.halt.hidden = this.bar.hidden = !running;
    Object.assign(this.bar, { max: changes.length, value: changes.length - missing });
    this.start.textContent = this.begun ? `Go on (${missing} to do)` : this.words.start(changes.length);
    const nobody = missing && !bench.lab ? `${changes.length - missing} of ${changes.length} were computed before the page was saved.` : "";
    const text = this.sweep.words || nobody;
    if (this.said.textContent !== text) this.said.textContent = text;
    this.said.hidden = !text;
  }

  run() {
    Object.assign(this, { begun: true, sweep: new Sweep(this.bench, this.changes, () => this.state.schedule()) });
    this.sweep.run();
    this.state.schedule();
  }

  end() {
    this.sweep?.stop();
  }
}
