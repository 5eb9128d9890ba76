// A stand-in for anywidget's model where there is no kernel: it holds the state that is stored in the page.

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
    // "change:NAME" as in anywidget, but only `changed` fires it; "save" is fired by save_changes().
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
  // Reads the state that `markup` of pages.py has put after the place of a widget of this name, and its data, which are
  // the first that no earlier place has taken: the site moves all data to the end of a page.
  let state = place.nextElementSibling;
  while (!state.matches(`.vit-${name}-state`)) state = state.nextElementSibling;
  const data = document.querySelector(`.vit-${name}-data`);
  const model = new PageModel(JSON.parse(state.textContent));
  model.state._data = fromBase64(data.textContent);
  data.remove(); // the bytes are kept, the characters need not be
  return model;
}
