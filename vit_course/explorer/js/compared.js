// The model as it is and with something taken out, side by side: what the explorer is given then.

import { called } from "./effects.js";
import { bytesOf } from "../../_support/widgets/js/bytes.js";

export class Compared {
  // model: anywidget's, or a page's; bench: whose panel, and what came of the last change.
  constructor(model, { index, out, told }) {
    const { usual, own, tools } = model;
    Object.assign(this, { model, usual, own, tools });
    const data = bytesOf(model.get("_data")), start = 8 * Math.ceil(data.length / 8);
    this.data = new Uint8Array(start + told.data.length);
    this.data.set(data);
    this.data.set(told.data, start);
    const sections = told.described.sections.map((section) => ({ ...section, at: section.at + start }));
    const before = model.get("_panels")[index];
    this.panels = [
      { ...before, title: "as it is" },
      { ...told.described, sections, title: `without ${out.map(called).join(" and ")}`, changed_model: true },
    ];
  }

  get(name) {
    return { _panels: this.panels, _data: this.data }[name] ?? this.model.get(name);
  }

  set(name, value) {
    this.model.set(name, value);
  }

  save_changes() {
    this.model.save_changes();
  }

  on(name, listener) {
    this.model.on(name, listener);
  }

  off(name, listener) {
    this.model.off(name, listener);
  }
}
