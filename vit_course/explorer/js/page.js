// Brings every explorer of a page to life. anywidget's model is replaced by the state itself.

import { fromBase64, fromDense } from "./bytes.js";
import { render } from "./explorer.js";

export class PageModel {
  constructor(state) {
    this.state = state;
    this.listeners = new Map();
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    this.state[name] = value;
  }

  save_changes() {
    for (const listener of this.listeners.get("save") ?? []) listener();
  }

  on(name, listener) {
    // "change:NAME" as in anywidget, though here nobody else changes anything; "save": something was set.
    if (!this.listeners.has(name)) this.listeners.set(name, new Set());
    this.listeners.get(name).add(listener);
  }

  off(name, listener) {
    this.listeners.get(name)?.delete(listener);
  }

  changed(name) {
    for (const listener of this.listeners.get(`change:${name}`) ?? []) listener();
  }
}

export function boot(place) {
  const [state, data] = [".vit-explorer-state", ".vit-explorer-data"].map((name) => {
    let next = place.nextElementSibling;
    while (next && !next.matches(name)) next = next.nextElementSibling;
    return next;
  });
  const model = new PageModel(JSON.parse(state.textContent));
  const decode = data.dataset.coding === "dense" ? fromDense : fromBase64;
  model.state._data = decode(data.textContent);
  data.remove(); // the bytes are kept, the characters need not be
  return render({ model, el: place });
}

for (const place of document.querySelectorAll(".vit-explorer-place")) boot(place);
