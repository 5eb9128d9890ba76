// What is looked at. The model (anywidget's, or a saved page's stand-in) holds what lasts and what Python may see; what
// is only pointed at stays here, so that hovering never talks to the kernel.

import { Tests } from "./lab.js";
import { elsewhere, moved } from "./places.js";
import { show } from "./shown.js";
import { refusal, usual } from "../../_support/widgets/js/state_table.js";
import TABLE from "./state.json" with { type: "json" };

// The one table of the state, as state_table.js has it; Python reads it too. `usual` is null where the panels decide.
export const USUAL = usual(TABLE);
export const NAMES = Object.keys(TABLE);

export class State {
  constructor(model, panels) {
    this.model = model;
    this.panels = panels;
    this.first = panels[0]; // whose tokens the state means
    const most = (name) => Math.max(...panels.map((panel) => panel[name]));
    this.counts = { layers: most("layers"), heads: most("heads"), tokens: this.first.tokens };
    this.hovered = this.hoveredKey = null; // tokens of the first panel, while something is pointed at
    this.before = USUAL.query; // what the query was when another was pinned
    // The element that says whether everything is drawn; the panel that was last pointed at.
    Object.assign(this, { root: null, drawers: new Set(), waiting: 0, pointed: 0, tests: new Tests() });
    for (const panel of panels) panel.changed = () => this.schedule();
  }

  get(name) {
    const value = this.model.get(name);
    return this.takes(name, value) ? value : USUAL[name] ?? this.counts.layers - 1;
  }

  takes(name, value) {
    return !refusal(TABLE, name, value, this.counts) && (!TABLE[name].choices || this.choices(name).includes(value));
  }

  choices(name) {
    // What the data allow.
    const alike = () => this.panels.every(({ featureWidth }) => featureWidth && featureWidth === this.first.featureWidth);
    const fits = {
      matters: () => this.tests.any,
      rollout: () => this.panels.every((panel) => panel.rollsOut), similarity: alike, colours: alike,
    };
    return TABLE[name].choices.filter((value) => fits[value]?.() ?? true);
  }

  set(values) {
    if (values.pinned && !this.get("pinned")) this.before = this.get("query");
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    if ("query" in values) this.hovered = null;
    if ("key" in values || values.pinned === false) this.hoveredKey = null;
    this.model.save_changes();
    this.schedule();
  }

  get query() {
    return this.hovered ?? this.get("query");
  }

  get key() {
    return this.hoveredKey ?? this.get("key");
  }

  hover(panel, token) {
    const here = elsewhere(token, panel, this.first, this.first);
    this.pointed = this.panels.indexOf(panel);
    if (this.get("pinned")) this.hoveredKey = here;
    else this.hovered = here;
    this.schedule();
  }

  leave() {
    this.hovered = this.hoveredKey = null;
    this.schedule();
  }

  keep() {
    // What was pointed at stays, as after a finger has left.
    if (this.hovered !== null) this.set({ query: this.hovered });
    else if (this.hoveredKey !== null) this.set({ key: this.hoveredKey });
  }

  pin(panel, token) {
    // Pins the query; then what it is compared with; and on the query itself once more frees it.
    if (this.tests.covers(panel, token)) return;
    const here = elsewhere(token, panel, this.first, this.first);
    if (!this.get("pinned")) this.set({ query: here, pinned: true, key: -1 });
    else if (here === this.get("query")) {
      this.free();
      if (window.matchMedia("(hover: hover)").matches) this.hovered = here; // the pointer is still there
    } else this.set({ key: here });
  }

  free() {
    // Back to the query before; where none was pinned, to the one that is usual.
    const query = this.get("pinned") ? this.before : USUAL.query;
    this.set({ pinned: false, key: -1, query });
  }

  move(down, right) {
    // While the query is pinned, the token that it is compared with moves.
    if (!this.get("pinned")) return this.set({ query: moved(this.query, this.first, down, right) });
    const from = this.key < 0 ? this.query : this.key;
    this.set({ key: moved(from, this.first, down, right) });
  }

  special() {
    // The next of the tokens that are no patches; from a patch the first.
    const { prefix } = this.first;
    if (prefix) this.set({ query: this.query < prefix ? (this.query + 1) % prefix : 0 });
  }

  step(name, by) {
    if (TABLE[name].choices) {
      const list = this.choices(name);
      return this.set({ [name]: list[(list.indexOf(this.get(name)) + by + list.length) % list.length] });
    }
    const size = this.counts[TABLE[name].counts];
    const chosen = { [name]: (this.get(name) + by + size) % size };
    this.set(name === "head" ? { ...chosen, fusion: "head" } : chosen);
  }

  subscribe(draw) {
    // -> a function that ends it.
    this.drawers.add(draw);
    return () => this.drawers.delete(draw);
  }

  schedule() {
    this.root && (this.root.dataset.drawn = "false"); // until all of what is now asked for is on the page
    this.waiting ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = 0;
    const shown = show(this);
    for (const draw of this.drawers) draw(shown);
  }

  follow() {
    // What Python, or the address of the page, changes. -> a function that ends it.
    const changed = () => this.schedule();
    for (const name of NAMES) this.model.on(`change:${name}`, changed);
    return () => {
      cancelAnimationFrame(this.waiting);
      for (const panel of this.panels) panel.closed = true;
      for (const name of NAMES) this.model.off(`change:${name}`, changed);
    };
  }
}
