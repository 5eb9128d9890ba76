// Shows the model's prediction as bars, and the logit lens as curves over the layers. No part for a model without a
// head.

import { curve, svg } from "./charts.js";
import { element } from "../../_support/widgets/js/element.js";
import { classes, drawnClasses, percent, reached, reading, told } from "./says.js";

const [WIDTH, HEIGHT] = [240, 100];

export class Says {
  constructor(state) {
    this.state = state;
    this.charts = state.panels.filter((panel) => panel.says).map((panel) => this.chart(panel));
    if (!this.charts.length) return; // no node, no part
    this.node = element("div", { class: "vit-part vit-says", role: "group", "aria-label": "What the model says" },
      element("div", { class: "vit-part-title", text: "What the model says" }),
      element("div", { class: "vit-says-all" }, ...this.charts.map(({ node }) => node)));
  }

  chart(panel) {
    const { says } = panel;
    const bars = element("ul", { class: "vit-classes" });
    const { shown, others, rest } = classes(says);
    for (const { label, probability } of shown) bars.append(bar(label, probability));
    if (others) bars.append(bar(`${others} ${others === 1 ? "other" : "others"}`, rest));
    const title = this.state.panels.length > 1 && panel.title ? [element("div", { class: "vit-says-title", text: panel.title })] : [];
    const lens = says.lens?.length > 1 ? this.lens(panel) : null;
    const about = element("p", { class: "vit-part-note", text: `From ${says.about}.${lens ? " The curve shows the same head on the class token between layers, where it was never trained." : ""}` });
    const all = [bars, ...(lens ? [lens.node] : []), about];
    if (says.none === undefined) return { panel, says, node: element("div", { class: "vit-says-one" }, ...title, ...all), lens };
    // A head of few classes may fit none to the picture, so its prediction is folded at first.
    const doubt = says.none ? [element("p", { text: says.none })] : [];
    const folded = element("details", {}, element("summary", { text: "A toy head of ten words" }), element("div", { class: "vit-says-one" }, ...all));
    return { panel, says, node: element("div", { class: "vit-says-one" }, ...title, ...doubt, folded), lens };
  }

  renewed(chart) {
    // Replaces the chart when the panel has another picture; what was unfolded or focused stays so.
    const one = this.chart(chart.panel), [was, is] = [chart, one].map(({ node }) => node.querySelector("details"));
    const focused = was?.contains(document.activeElement);
    if (was && is) is.open = was.open;
    chart.node.replaceWith(one.node);
    if (focused) is?.querySelector("summary").focus();
    return one;
  }

  lens(panel) {
    const { says } = panel;
    const chosen = drawnClasses(says);
    const here = svg("path", { class: "vit-here", "vector-effect": "non-scaling-stroke" });
    const lines = chosen.map((index, i) => svg("path", {
      class: `vit-line vit-line-${i}`, "vector-effect": "non-scaling-stroke",
      d: curve(says.lens.map((row) => row[index]), WIDTH, HEIGHT),
    }));
    const drawing = svg("svg", {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Logit lens. ${told(says)} ${says.lens.map((_, row) => reading(says, row, 1)).join("; ")}.`,
    }, svg("path", { class: "vit-ground", "vector-effect": "non-scaling-stroke", d: `M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}M0 0H${WIDTH}` }), here, ...lines);
    const key = element("ul", { class: "vit-lens-key", "aria-hidden": "true" });
    chosen.forEach((index, i) => key.append(element("li", { class: `vit-line-${i}`, text: says.labels[index] })));
    const readout = element("p", { class: "vit-lens-reading" });
    const axis = element("div", { class: "vit-lens-axis", "aria-hidden": "true" },
      ...["before", `layer ${Math.floor((says.lens.length - 1) / 2) - 1}`, `layer ${says.lens.length - 2}`].map((text) => element("span", { text })));
    const frame = element("div", { class: "vit-lens-frame" }, element("span", { class: "vit-lens-top", text: "100 %", "aria-hidden": "true" }), drawing);
    const lens = { panel, node: element("div", { class: "vit-lens" }, element("p", { text: told(says) }), key, frame, axis, readout), here, readout, row: -1 };
    drawing.addEventListener("pointermove", (event) => {
      const box = drawing.getBoundingClientRect();
      const row = Math.round(((event.clientX - box.left) / box.width) * (says.lens.length - 1));
      this.mark(lens, Math.min(Math.max(row, 0), says.lens.length - 1));
    });
    drawing.addEventListener("pointerleave", () => this.mark(lens, this.rowOf(lens)));
    return lens;
  }

  rowOf({ panel }) {
    return reached(panel, Math.min(this.state.get("layer"), panel.layers - 1));
  }

  mark(lens, row) {
    if (lens.row === row) return;
    lens.row = row;
    const x = (row * WIDTH) / (lens.panel.says.lens.length - 1);
    lens.here.setAttribute("d", `M${x.toFixed(2)} 0V${HEIGHT}`);
    const text = reading(lens.panel.says, row);
    lens.readout.textContent = text[0].toUpperCase() + text.slice(1);
  }

  draw() {
    if (this.state.get("details"))
      this.charts = this.charts.map((chart) => (chart.says === chart.panel.says ? chart : this.renewed(chart)));
    for (const { lens } of this.charts) {
      if (!lens) continue;
      const row = this.rowOf(lens);
      if (row !== lens.shown) this.mark(lens, (lens.shown = row));
    }
  }
}

export function chartOf(state, panel) {
  // The chart of one prediction, for a part that shows several for the same picture.
  const part = new Says({ panels: [{ ...panel, title: "", says: { ...panel.says, none: undefined } }], get: (name) => state.get(name) });
  part.draw();
  return part.charts[0].node;
}

function bar(label, probability) {
  const drawn = element("span", { class: "vit-class-bar", "aria-hidden": "true" });
  drawn.style.setProperty("--vit-share", probability);
  return element("li", {}, element("span", { class: "vit-class-name", text: label }), drawn,
    element("span", { class: "vit-figure", text: percent(probability) }));
}
