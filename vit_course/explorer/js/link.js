// Keeps the state in the address of a saved page, so that a link shows what its sender saw.

import { fromAddress, toAddress } from "../../_support/widgets/js/state_table.js";
import TABLE from "./state.json" with { type: "json" };

// -> the parts of the state that differ from how the page opens: "layer=3&head=4&pinned=1".
export const encode = (values, usual) => toAddress(TABLE, values, usual);

// -> the parts of an address that are valid on this page.
export function decode(text, state) {
  return Object.fromEntries(fromAddress(TABLE, text.replace(/^#/, "")).filter(([name, value]) => state.takes(name, value)));
}

export function belongs(node) {
  // Whether this explorer may use the address: it is the only one on a page that is neither a notebook nor in a frame.
  const places = document.querySelectorAll(".vit-explorer-place");
  return places.length === 1 && places[0].contains(node) && window.top === window.self && !document.querySelector(".jp-Notebook");
}

export class Link {
  // Reads the address at the start, and writes it when nothing has changed for a moment.
  constructor(state, wait = 250) {
    this.state = state;
    this.wait = wait;
    // How the page opens. The live page gives this in `model.usual`, as its explorers open with the visitor's choices.
    this.usual = { ...this.values(), ...state.model.usual };
    this.read = () => {
      const values = decode(location.hash, state);
      if (Object.keys(values).length) this.state.set({ ...this.usual, ...values });
    };
    this.read();
    this.written = encode(this.values(), this.usual);
    window.addEventListener("hashchange", this.read);
  }

  values() {
    return Object.fromEntries(Object.keys(TABLE).map((name) => [name, this.state.get(name)]));
  }

  draw() {
    const text = encode(this.values(), this.usual);
    if (text === this.written) return;
    this.written = text;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), this.wait);
  }

  write() {
    clearTimeout(this.waiting);
    history.replaceState(history.state, "", this.address());
  }

  address() {
    const text = encode(this.values(), this.usual);
    return `${location.pathname}${location.search}${text ? `#${text}` : ""}`;
  }

  end() {
    clearTimeout(this.waiting);
    window.removeEventListener("hashchange", this.read);
  }
}
