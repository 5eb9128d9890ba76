// Where the explorer stands: the picture alone until there is something to point at, then what the model computed.

import { render } from "./explorer.js";
import { PageModel } from "./page.js";

// What a visitor has set stays from picture to picture, but for the places of tokens.
const KEPT = ["layer", "head", "fusion", "direction", "view", "overlay", "scale", "fixed", "smooth", "tour"];

export class Stage {
  constructor(node) {
    this.node = node;
    this.place = node.querySelector(".live-explorer");
    this.picture = node.querySelector(".live-picture");
    this.credit = node.querySelector(".live-credit");
    this.model = null; // the name of the one whose answer is shown
    this.touched = false;
    for (const kind of ["pointerdown", "keydown"])
      this.place.addEventListener(kind, () => (this.touched = true), { capture: true, passive: true });
  }

  // A picture that nothing has been computed of yet; null where it will not be.
  waiting(picture) {
    this.node.classList.toggle("live-busy", picture !== null);
    if (!picture || this.model) return;
    this.picture.src = typeof picture.source === "string" ? picture.source : URL.createObjectURL(picture.source);
  }

  // The explorer's own state, such as {tour: "look"}.
  set(values) {
    for (const [name, value] of Object.entries(values)) this.shown?.set(name, value);
    for (const name of Object.keys(values)) this.shown?.changed(name);
  }

  // first: what is to be seen of this model before a visitor has chosen anything.
  show(panel, data, { model, first, credit }) {
    const values = { _panels: [panel], _data: data, ...first };
    const kept = this.model === model ? KEPT : KEPT.filter((name) => !["layer", "head"].includes(name));
    for (const name of this.values ? kept : []) values[name] = this.values[name] ?? values[name];
    this.end?.();
    this.place.replaceChildren();
    this.values = values;
    this.shown = new PageModel(values);
    this.end = render({ model: this.shown, el: this.place });
    this.model = model;
    this.touched = false;
    this.credit.textContent = credit;
    this.picture.hidden = true;
    this.node.classList.remove("live-busy");
  }
}
