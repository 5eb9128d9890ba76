// A button that has a family of changes computed, how far it is, and a button that stops it.

import { button, element } from "../../_support/widgets/js/element.js";
import { Sweep } from "./lab.js";

export class SweepPart {
  constructor(state, words) {
    Object.assign(this, { state, words });
    this.start = button("", () => this.run());
    this.halt = button("Stop", () => this.sweep?.stop());
    this.bar = element("progress", { "aria-label": words.progress });
    this.said = element("span", { class: "vit-part-note vit-figure" });
    this.node = element("div", { class: "vit-sweep", tabindex: "-1" }, this.start, this.bar, this.halt, this.said);
  }

  // bench: whose changes; changes: all of them.
  draw(bench, changes) {
    if (this.bench !== bench || this.changes !== changes) {
      this.sweep?.stop();
      Object.assign(this, { bench, changes, begun: false, sweep: new Sweep(bench, changes, () => this.state.schedule()) });
    }
    const missing = this.sweep.missing.length, known = changes.length - missing, { running } = this.sweep;
    const held = [this.start, this.halt].includes(document.activeElement);
    this.start.hidden = running || !missing || !bench.lab;
    this.halt.hidden = this.bar.hidden = !running;
    // The button that was pressed gives way to the other, or to what came of it.
    if (held && document.activeElement.hidden) (running ? this.halt : this.start.hidden ? this.node : this.start).focus({ preventScroll: true });
    Object.assign(this.bar, { max: changes.length, value: known });
    this.start.textContent = known > 1 ? `Continue (${missing} left)` : this.words.start(changes.length);
    const nobody = missing && !bench.lab ? `The saved page holds ${known} of the ${changes.length} results.` : "";
    const text = running ? `${known} of ${changes.length}` : this.sweep.words || nobody;
    if (this.said.textContent !== text) this.said.textContent = text;
  }

  // Whether the picture of all is there, or on its way because somebody asked for it.
  get wanted() {
    return this.begun || !this.sweep.missing.length || !this.bench.lab;
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
