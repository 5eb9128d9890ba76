// "Why there?" on the page: the vectors of one query and one key as strips, their product, and all scores beside it.

import { bars, largest, steps, svg } from "./charts.js";
import { element } from "../../_support/widgets/js/element.js";
import { share, signed, times } from "./ranks.js";
import { added, aside, because, cannot, explain } from "./why.js";

const STRIPS = [
  ["q", "query"],
  ["k", "key"],
  ["product", "query × key"],
  ["own", "own part"],
];

// Milliseconds without another query, where it is on the screen and where it is not.
const [PAUSE, REST] = [60, 300];

export class Why {
  constructor(state) {
    this.state = state;
    this.words = element("div", { class: "vit-why-words" });
    this.strips = STRIPS.map(([name, label]) => this.strip(name, label));
    this.sums = element("dl", { class: "vit-why-sums" });
    this.before = this.chart("keys by score");
    this.after = this.chart("attention by score");
    this.axis = element("div", { class: "vit-why-axis" });
    const strips = element("div", { class: "vit-vectors" }, ...this.strips.map(({ node }) => node), this.sums);
    const charts = element("div", { class: "vit-why-charts" }, this.before.node, this.after.node, this.axis);
    this.body = element("div", { class: "vit-why-body" }, strips, charts);
    this.note = element("p", { class: "vit-part-note", text: "The own part leaves out what the average key gets. Click a patch to pin it, then point at another to compare the two." });
    this.node = element("div", { class: "vit-part vit-why", role: "group", "aria-label": "Why there?" },
      element("div", { class: "vit-part-title", text: "Why there?" }), this.words, this.body, this.note);
    this.seen = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible && this.shown) this.draw(this.shown);
    }, { rootMargin: "200px" });
    this.seen.observe(this.node);
  }

  strip(name, label) {
    const [up, down] = [svg("path", { class: "vit-up" }), svg("path", { class: "vit-down" })];
    const zero = svg("path", { class: "vit-zero", "vector-effect": "non-scaling-stroke" });
    const mark = svg("rect", { class: "vit-lit", y: -1, width: 1, height: 2, x: -2 });
    const drawing = svg("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }, mark, up, down, zero);
    const value = element("span", { class: "vit-figure" });
    const node = element("div", { class: "vit-vector" }, element("span", { class: "vit-vector-name", text: label }), drawing, value);
    drawing.addEventListener("pointermove", (event) => {
      const box = drawing.getBoundingClientRect();
      this.point(Math.floor(((event.clientX - box.left) / box.width) * (this.found?.q.length ?? 0)));
    });
    drawing.addEventListener("pointerleave", () => this.point(-1));
    return { node, name, drawing, up, down, zero, mark, value };
  }

  chart(label) {
    const [shape, mark] = [svg("path", { class: "vit-shape" }), svg("path", { class: "vit-here", "vector-effect": "non-scaling-stroke" })];
    const drawing = svg("svg", { viewBox: "0 0 40 1", preserveAspectRatio: "none", "aria-hidden": "true" }, shape, mark);
    const value = element("span", { class: "vit-chart-value" });
    const head = element("div", { class: "vit-chart-head" }, element("span", { text: label }), value);
    return { node: element("div", { class: "vit-chart" }, head, drawing), shape, mark, value };
  }

  draw(shown) {
    // When the pointer rests: the photograph is not to wait for it.
    const { panel, q, key, layer, head, fusion, direction, ready } = shown[this.state.pointed ?? 0];
    const asked = [shown.length, panel.title, q, key, layer, head, fusion, direction, ready, this.state.get("view"), !!panel.features, panel.replaced, this.visible].join();
    this.shown = shown;
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.paint(), this.visible ? PAUSE : REST);
  }

  paint() {
    const { shown } = this;
    const one = shown[this.state.pointed ?? 0];
    const { panel, q, key, layer, head, fusion, direction, best } = one;
    const why = cannot(panel, fusion);
    const other = key >= 0 ? key : best < 0 ? q : best; // the ringed one
    const first = aside(one, other);
    const [asks, asked] = direction === "to" ? [other, q] : [q, other];
    this.found = why ? null : explain(panel, layer, head, asks, asked);
    this.body.hidden = this.note.hidden = !!why;
    const say = (...texts) => this.words.replaceChildren(...texts.filter(Boolean).map((text) => element("p", { text })));
    if (why) say(first, why);
    if (!this.found) return;
    const texts = because(this.found, panel);
    if (shown.length > 1 && panel.title) texts[0] = `${panel.title}: ${texts[0]}`;
    say(first, ...texts);
    this.drawStrips();
    this.drawCharts();
    this.point(-1);
  }

  drawStrips() {
    const { found } = this;
    for (const { name, drawing, up, down, zero, value } of this.strips) {
      const top = largest(found[name]);
      const count = found.q.length;
      drawing.setAttribute("viewBox", `0 -1 ${count} 2`);
      zero.setAttribute("d", `M0 0H${count}`);
      bars(found[name], top).forEach((outline, i) => [up, down][i].setAttribute("d", outline));
      const sum = name === "product" ? found.sum : name === "own" ? found.ownSum : null;
      value.textContent = sum === null ? `up to ${top.toFixed(1)}` : `sum ${signed(sum)}`;
    }
  }

  drawCharts() {
    const { found, before, after } = this;
    const { low, high, score } = found;
    const x = high > low ? ((score - low) / (high - low)) * 40 : 20;
    for (const [chart, values] of [[before, found.counts], [after, found.shares]]) {
      chart.shape.setAttribute("d", steps(values));
      chart.mark.setAttribute("d", `M${x.toFixed(2)} 0V1`);
    }
    before.value.textContent = `score ${signed(score)}`;
    after.value.textContent = found.times < 0.005 ? share(found.weight) : `${share(found.weight)}, ${times(found.times)} × even`;
    this.axis.replaceChildren(...[signed(low), "score", signed(high)].map((text) => element("span", { text })));
  }

  point(i) {
    // Below the strips: the sums, or the one dimension that is pointed at.
    const { found } = this;
    if (!found) return;
    const some = i >= 0 && i < found.q.length;
    for (const { mark } of this.strips) mark.setAttribute("x", some ? i : -2);
    const on = added(found);
    const lines = some
      ? [[`dimension ${i}`, `${signed(found.q[i])} × ${signed(found.k[i])} = ${signed(found.product[i])}`],
         ["own part of that", signed(found.own[i])], ["", ""]]
      : [["adds up", on.parts], ["shared + own part", on.shared], ["scaled", on.scaled]];
    this.sums.replaceChildren(...lines.map(([name, text]) =>
      element("div", {}, element("dt", { text: name || "\u00a0" }), element("dd", { text }))));
  }

  end() {
    clearTimeout(this.waiting);
    this.seen.disconnect();
  }
}
