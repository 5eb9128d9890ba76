// The state in the address of a saved page, so that a link shows what its sender saw. No DOM but the address itself.

import { fromAddress, toAddress } from "../../_support/widgets/js/state_table.js";
import TABLE from "./state.json" with { type: "json" };

// What differs from how the page opens: "layer=3&head=4&pinned=1".
export const encode = (values, usual) => toAddress(TABLE, values, usual);

// -> what of it fits this page.
export function decode(text, state) {
  return Object.fromEntries(fromAddress(TABLE, text.replace(/^#/, "")).filter(([name, value]) => state.takes(name, value)));
}

export function belongs(node) {
  // Whether the address is this explorer's: a page of its own, with no other explorer, and nobody's notebook.
  const places = document.querySelectorAll(".vit-explorer-place");
  return places.length === 1 && places[0].contains(node) && window.top === window.self && !document.querySelector(".jp-Notebook");
}

export class Link {
  // Reads the address at the start, and writes it when nothing has changed for a moment.
  constructor(state, wait = 250) {
    this.state = state;
    this.wait = wait;
    // How the page opens, unless it says so itself: where a visitor's choices outlive a picture, an explorer opens with them.
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
