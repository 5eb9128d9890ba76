// The state in the address of a saved page, so that a link shows what its sender saw. No DOM but the address itself.

import TABLE from "./state.json" with { type: "json" };

export function encode(values, usual) {
  // What differs from how the page opens: "layer=3&head=4&pinned=1".
  const parts = new URLSearchParams();
  for (const [name, { flag }] of Object.entries(TABLE))
    if (values[name] !== usual[name]) parts.set(name, flag ? Number(values[name]) : values[name]);
  return parts.toString();
}

export function decode(text, state) {
  // -> what of it fits this page. Anybody can write an address: what is out of range or unknown is left out.
  const parts = [...new URLSearchParams(text.replace(/^#/, ""))].map(([name, value]) => {
    const { flag, choices } = TABLE[name] ?? {};
    return [name, flag ? { 1: true, 0: false }[value] : choices ? value : value && Number(value)];
  });
  return Object.fromEntries(parts.filter(([name, value]) => state.takes(name, value)));
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
