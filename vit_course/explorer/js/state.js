// The state of the view. The model (anywidget's, or a saved page's stand-in) holds the lasting part, which Python may
// see; the token under the pointer stays here, so that hovering never sends messages to the kernel.

import { Tests } from "./lab.js";
import { elsewhere, moved } from "./places.js";
import { show } from "./shown.js";
import { refusal, usual } from "../../_support/widgets/js/state_table.js";
import TABLE from "./state.json" with { type: "json" };

// The defaults and names from the table of the state (state_table.js), which Python reads too. A default is null if it
// depends on the panels.
export const USUAL = usual(TABLE);
export const NAMES = Object.keys(TABLE);

export class State {
  constructor(model, panels) {
    this.model = model;
    this.panels = panels;
    this.first = panels[0]; // `query` and `key` are tokens of this panel
    const most = (name) => Math.max(...panels.map((panel) => panel[name]));
    this.counts = { layers: most("layers"), heads: most("heads"), tokens: this.first.tokens };
    this.counts.phrases = Math.min(...panels.map((panel) => panel.phrases?.length ?? 0));
    this.hovered = this.hoveredKey = null; // tokens of the first panel under the pointer, or null
    this.before = USUAL.query; // the query before one was pinned
    // root: the element whose dataset says whether everything is drawn; pointed: the panel that was last pointed at.
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
    // The choices that the data allow.
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
    // Keeps the token under the pointer, such as after a finger is lifted.
    if (this.hovered !== null) this.set({ query: this.hovered });
    else if (this.hoveredKey !== null) this.set({ key: this.hoveredKey });
  }

  pin(panel, token) {
    // The first click pins the query, the next ones choose the token to compare it with; a click on the query unpins
    // it.
    if (this.tests.covers(panel, token)) return;
    const here = elsewhere(token, panel, this.first, this.first);
    if (!this.get("pinned")) this.set({ query: here, pinned: true, key: -1 });
    else if (here === this.get("query")) {
      this.free();
      if (window.matchMedia("(hover: hover)").matches) this.hovered = here; // the pointer is still there
    } else this.set({ key: here });
  }

  free() {
    // Unpins, and restores the query from before; if none was pinned, the default query.
    const query = this.get("pinned") ? this.before : USUAL.query;
    this.set({ pinned: false, key: -1, query });
  }

  move(down, right) {
    // Moves the query or, while it is pinned, the token that it is compared with.
    if (!this.get("pinned")) return this.set({ query: moved(this.query, this.first, down, right) });
    const from = this.key < 0 ? this.query : this.key;
    this.set({ key: moved(from, this.first, down, right) });
  }

  special() {
    // Goes to the next prefix token, or from a patch to the first one.
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
    this.root && (this.root.dataset.drawn = "false"); // until everything is drawn
    this.waiting ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = 0;
    const shown = show(this);
    for (const draw of this.drawers) draw(shown);
  }

  follow() {
    // Redraws when Python or the page's address changes the state. -> a function that ends it, and closes the panels.
    const changed = () => this.schedule();
    for (const name of NAMES) this.model.on(`change:${name}`, changed);
    return () => {
      cancelAnimationFrame(this.waiting);
      for (const panel of this.panels) panel.closed = true;
      for (const name of NAMES) this.model.off(`change:${name}`, changed);
    };
  }
}
