// anywidget's model where there is no kernel: the state itself, as it lies in the page.

import { fromBase64 } from "./bytes.js";

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

export function modelOf(place, name) {
  // What `markup` of pages.py has put after the place of a widget of this name.
  const [state, data] = [`.vit-${name}-state`, `.vit-${name}-data`].map((one) => {
    let next = place.nextElementSibling;
    while (next && !next.matches(one)) next = next.nextElementSibling;
    return next;
  });
  const model = new PageModel(JSON.parse(state.textContent));
  model.state._data = fromBase64(data.textContent);
  data.remove(); // the bytes are kept, the characters need not be
  return model;
}
