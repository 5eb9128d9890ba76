// The tokens that are no patches: buttons with their names, and with their weights in figures of one width.

import { element } from "../../_support/widgets/js/element.js";
import { percent } from "./words.js";

export class Chips {
  constructor(state, panel) {
    Object.assign(this, { state, panel });
    this.node = element("div", { class: "vit-chips", role: "group", "aria-label": "Tokens that are not patches" });
    this.node.hidden = panel.prefix === 0;
    this.chips = Array.from({ length: panel.prefix }, (_, token) => this.chip(token));
    this.node.append(...this.chips.map(({ button }) => button));
  }

  chip(token) {
    const { panel, state } = this;
    const value = element("span", { class: "vit-figure" });
    const button = element("button", { type: "button", class: "vit-chip" }, element("span", { text: panel.names[token] }), value);
    button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && state.hover(panel, token));
    button.addEventListener("pointerleave", () => state.leave());
    button.addEventListener("click", () => state.pin(panel, token));
    return { button, value };
  }

  draw({ q, drawn, colours }) {
    this.chips.forEach(({ button, value }, token) => {
      const similar = this.state.get("view") === "similarity";
      value.textContent = colours ? "" : similar ? drawn[token].toFixed(2) : percent(drawn[token]);
      button.setAttribute("aria-pressed", String(token === q));
    });
  }
}
