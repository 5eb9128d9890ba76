// The choices: rows of radio buttons that look like one strip each, the switch of smoothing, the slider of the fixed scale.

import { element } from "../../_support/widgets/js/element.js";
import { multiples, nearestMultiple } from "./scales.js";
import TABLE from "./state.json" with { type: "json" };

// Where a choice changes nothing that is drawn.
const IDLE = {
  direction: (state) => state.get("view") !== "attention",
  overlay: (state) => state.get("view") === "colours",
  scale: (state) => state.get("view") !== "attention" || ["outline", "off"].includes(state.get("overlay")),
};

export class Strip {
  // One of several: native radio buttons, so that arrow keys and readers of the screen know them.
  constructor(state, name, id) {
    Object.assign(this, { state, name });
    const { title, choices, labels } = TABLE[name];
    this.inputs = state.choices(name).map((value) => {
      const input = element("input", { type: "radio", name: `${id}-${name}`, value, id: `${id}-${name}-${value}` });
      input.addEventListener("change", () => state.set({ [name]: value }));
      return input;
    });
    const parts = this.inputs.flatMap((input) => [input, element("label", { for: input.id, text: labels[choices.indexOf(input.value)] })]);
    this.node = element("div", { class: `vit-strip vit-strip-${name}`, role: "radiogroup", "aria-label": title }, ...parts);
    this.node.hidden = this.inputs.length < 2;
  }

  draw() {
    const value = this.state.get(this.name);
    const idle = IDLE[this.name]?.(this.state) ?? false;
    for (const input of this.inputs) [input.checked, input.disabled] = [input.value === value, idle];
  }
}

// Whether a fold is open is state. It is noted at the click: the browser says "toggle" only later, and a frame drawn
// until then would fold it again. What opens it without a click, such as a search in the page, is heard by "toggle".
export function remembered(details, state, name) {
  const note = (open) => open !== state.get(name) && state.set({ [name]: open });
  details.firstChild.addEventListener("click", () => note(!details.open));
  details.addEventListener("toggle", () => note(details.open));
}

export class Smooth {
  constructor(state, id) {
    this.state = state;
    this.input = element("input", { type: "checkbox", id: `${id}-smooth` });
    this.input.addEventListener("change", () => state.set({ smooth: this.input.checked }));
    this.node = element("div", { class: "vit-switch" }, this.input, element("label", { for: `${id}-smooth`, text: "Smooth" }));
  }

  draw() {
    this.input.checked = this.state.get("smooth");
  }
}

export class Fixed {
  // In multiples of the weight that each token would get if all got the same.
  constructor(state, id) {
    this.state = state;
    this.list = multiples(state.first.tokens);
    this.input = element("input", { type: "range", id: `${id}-fixed`, min: 0, max: this.list.length - 1, step: 1 });
    this.input.addEventListener("input", () =>
      state.set({ fixed: Math.min(this.list[this.input.value] / state.first.tokens, 1), scale: "fixed" }),
    );
    this.value = element("output", { class: "vit-figure", for: this.input.id });
    this.node = element("div", { class: "vit-fixed" }, element("label", { for: this.input.id, text: "Full strength at" }), this.input, this.value);
  }

  draw() {
    const { tokens } = this.state.first;
    const index = nearestMultiple(this.state.get("fixed"), tokens);
    this.input.value = index;
    this.value.textContent = `${String(this.list[index]).padStart(3, "\u2007")} / ${tokens}`;
    this.input.setAttribute("aria-valuetext", `${this.list[index]} times an even share of ${tokens} tokens`);
  }
}
