// The guided tour above the photograph: a question, a hint, and what was found, read off the explorer's own state.

import { element } from "../../_support/widgets/js/element.js";
import { NAMES, reading, ready } from "./tour_facts.js";
import { TOURS } from "./tours.js";

const SLICE = 8; // milliseconds of searching at a time, so that the pointer is not kept waiting
const reached = new Map(); // the tour's name -> the step and what was found, kept when a new photograph comes

export class Tour {
  constructor(state) {
    Object.assign(this, { state, last: "look" });
    const button = (text, act, more = {}) => {
      const node = element("button", { type: "button", text, ...more });
      node.addEventListener("click", act);
      return node;
    };
    this.name = element("span", { class: "vit-tour-name" });
    this.progress = element("span", { class: "vit-figure" });
    this.dots = element("span", { class: "vit-tour-dots", "aria-hidden": "true" });
    this.title = element("div", { class: "vit-part-title", tabindex: "-1" });
    this.question = element("p", { class: "vit-tour-question" });
    this.hint = element("p");
    this.folded = element("details", {}, element("summary", { text: "Hint" }), this.hint);
    this.found = element("p", { class: "vit-tour-found", role: "status" });
    this.back = button("Back", () => this.go(-1));
    this.next = button("Next", () => this.go(1), { class: "vit-tour-next" });
    this.show = button("Show me one", () => this.solve());
    const leave = button("Leave", () => this.state.set({ tour: "" }), { "aria-label": "Leave the tour" });
    const [head, foot] = [["vit-tour-head", this.name, this.dots, this.progress, leave],
      ["vit-tour-foot", this.back, this.next, this.show]].map(([name, ...parts]) => element("div", { class: name }, ...parts));
    this.body = element("div", { class: "vit-tour-body" }, head, this.title, this.question, this.folded, this.found, foot);
    // It stands with the words, where a newcomer reads.
    this.offer = button("Take the tour", () => this.restart(), { class: "vit-tour-offer" });
    this.node = element("div", { class: "vit-tour", role: "group", "aria-label": "Guided tour" }, this.body);
  }

  get tour() {
    return TOURS[this.state.get("tour")];
  }

  get step() {
    return this.tour.steps[this.at.step];
  }

  draw() {
    const name = this.state.get("tour");
    if (name !== this.drawn) this.begin(name);
    if (!this.tour || !this.step) return;
    const now = reading(this.state);
    const { panel, layer } = now;
    const seen = JSON.stringify([NAMES.map((each) => now[each]), ready(panel, layer), !!panel.features]);
    if (seen === this.seen || this.without) return;
    this.seen = seen;
    const found = ready(panel, layer) ? this.step.check(now) : "";
    if (found) this.say(found);
  }

  begin(name) {
    this.drawn = name;
    this.node.hidden = !this.tour;
    this.offer.hidden = !!this.tour;
    clearTimeout(this.searching);
    if (!this.tour) return;
    this.last = name;
    this.offer.textContent = "Take the tour again";
    if (!reached.has(name)) reached.set(name, { step: 0, found: new Set() });
    this.at = reached.get(name);
    this.open();
  }

  restart() {
    reached.delete(this.last);
    this.state.set({ tour: this.last });
    this.begin(this.last);
    this.title.focus();
  }

  go(by) {
    const { steps } = this.tour;
    if (this.at.step + by > steps.length) return this.restart();
    this.at.step = Math.max(this.at.step + by, 0);
    this.open();
    this.draw();
    this.title.focus();
  }

  open() {
    const { steps, title } = this.tour;
    const now = reading(this.state);
    const over = !this.step;
    this.name.textContent = title;
    this.progress.textContent = over ? `${this.at.found.size} of ${steps.length} found` : `${this.at.step + 1} of ${steps.length}`;
    this.title.textContent = over ? "That was the tour" : this.step.title;
    this.question.textContent = over ? "You can ask all of this about any other photograph, and the answers may be different." : this.step.question(now);
    this.hint.textContent = over ? "" : this.step.hint;
    this.folded.hidden = this.show.hidden = over;
    this.folded.open = false;
    this.back.disabled = this.at.step === 0;
    this.next.textContent = over ? "Start again" : "Next";
    this.found.textContent = this.seen = "";
    this.without = over ? "" : this.step.needs(now.panel);
    this.mark();
    clearTimeout(this.searching);
    if (this.step?.details) this.state.set({ details: true });
    if (this.without) this.none(this.without);
    else if (!over) this.search((values) => values || this.none("This picture has no example of it."));
  }

  mark() {
    this.dots.replaceChildren(...this.tour.steps.map((_, i) => element("span", {
      class: `${this.at.found.has(i) ? "vit-done" : ""}${i === this.at.step ? " vit-now" : ""}` })));
    this.body.classList.toggle("vit-passed", this.at.found.has(this.at.step) && !this.without);
  }

  none(why) {
    this.without = why;
    this.show.hidden = this.folded.hidden = true;
    this.found.textContent = `${why} This step is skipped.`;
  }

  say(text) {
    this.at.found.add(this.at.step);
    this.found.textContent = text;
    this.mark();
  }

  search(done) {
    // In slices: through all heads of all layers, if need be.
    const steps = this.step.solve(reading(this.state));
    const slice = () => {
      const until = performance.now() + SLICE;
      while (performance.now() < until) {
        const { done: over, value } = steps.next();
        if (over) return done(value);
      }
      this.searching = setTimeout(slice, SLICE);
    };
    clearTimeout(this.searching);
    slice();
  }

  solve() {
    this.search((values) => (values ? this.state.set(values) : this.none("This picture has no example of it.")));
  }

  end() {
    clearTimeout(this.searching);
  }
}
