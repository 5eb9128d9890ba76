// Buttons for the tokens that are not patches, with their names and weights, and for phrases to compare all with.

import { element } from "../../_support/widgets/js/element.js";
import { percent } from "./words.js";

export class Chips {
  constructor(state, panel) {
    Object.assign(this, { state, panel });
    const phrases = state.counts.phrases ? panel.phrases : [];
    const label = phrases.length ? "Phrases, and tokens that are not patches" : "Tokens that are not patches";
    this.node = element("div", { class: "vit-chips", role: "group", "aria-label": label });
    this.node.hidden = panel.prefix + phrases.length === 0;
    this.chips = Array.from({ length: panel.prefix }, (_, token) => this.chip(token));
    this.phrases = phrases.map((text, number) => this.phrase(text, number));
    this.node.append(...this.chips.map(({ button }) => button), ...this.phrases);
  }

  phrase(text, number) {
    const button = element("button", { type: "button", class: "vit-chip", title: "Which patches are like this phrase?", text: `“${text}”` });
    const { state } = this;
    button.addEventListener("click", () => (this.chosen === number ? state.set({ phrase: -1 }) : state.set({ phrase: number, view: "similarity" })));
    return button;
  }

  get chosen() {
    return this.state.get("view") === "similarity" ? this.state.get("phrase") : -1;
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
    this.phrases.forEach((button, number) => button.setAttribute("aria-pressed", String(number === this.chosen)));
  }
}
