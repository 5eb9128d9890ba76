// The part "Save and share": a picture, the weights as a table and as a file, a link to this view.

import { canvasOf, scaled } from "./compose.js";
import { element } from "../../_support/widgets/js/element.js";
import { belongs, Link } from "./link.js";
import { Mask, paintPanel } from "./photo.js";
import { compose, fileOf } from "./picture.js";
import { cells, csv, fileName, meaning } from "./table.js";
import { describe } from "./words.js";

const PAUSE = 120; // milliseconds without a change before the table is filled again

export class Tools {
  constructor(state) {
    this.state = state;
    const button = (text, act) => {
      const node = element("button", { type: "button", text });
      node.addEventListener("click", () => act().then((said) => this.say(said), (error) => this.say(`That did not work: ${error.message}.`)));
      return node;
    };
    this.said = element("p", { class: "vit-part-note vit-said", role: "status" });
    this.buttons = element("div", { class: "vit-tools-buttons" },
      button("Save picture", () => this.picture()), button("Save as CSV", () => this.csv()),
      ...(state.model.tools ?? []).map(([text, act]) => button(text, () => act(this))));
    this.copy = button("Copy link to this view", () => this.copied());
    this.table = element("div", { class: "vit-table", tabindex: "0", role: "region", "aria-label": "Table of weights" });
    this.folded = element("details", {}, element("summary", { text: "Weights as a table" }), this.table);
    this.folded.addEventListener("toggle", () => this.fill());
    this.node = element("div", { class: "vit-part vit-tools", role: "group", "aria-label": "Save and share" }, this.buttons, this.said, this.folded);
  }

  draw(shown) {
    // Reads the address at the first draw, as the explorer is not in the page yet when this is constructed.
    if (!this.shown && belongs(this.node)) {
      this.link = new Link(this.state);
      this.buttons.append(this.copy);
    }
    this.shown = shown;
    this.link?.draw();
    if (!this.folded.open) return;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.fill(), PAUSE);
  }

  say(text) {
    this.said.textContent = text;
  }

  save(blob, name) {
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    return `Saved as ${name}.`;
  }

  async picture() {
    const { state, shown, node } = this;
    const root = node.closest(".vit-explorer");
    const { color, backgroundColor } = getComputedStyle(root);
    const views = root.querySelectorAll(".vit-main");
    const parts = shown.map((one, i) => {
      const { clientWidth: width, clientHeight: height } = views[i];
      const [overlay, smooth, pinned] = ["overlay", "smooth", "pinned"].map((name) => state.get(name));
      const paint = (w, h) => {
        const bright = scaled(one.panel.picture, w, h);
        const canvas = canvasOf(w, h);
        paintPanel(canvas.getContext("2d"), { bright, mask: new Mask(one.panel) }, one, { overlay, smooth, pinned, ratio: 2 });
        return canvas;
      };
      return { width, height, title: one.panel.title, paint };
    });
    const text = (name) => root.querySelector(`.vit-legend ${name}`)?.textContent.trim() ?? "";
    const drawn = ["spotlight", "heat"].includes(state.get("overlay")) && state.get("view") !== "colours";
    const legend = { bar: drawn ? root.querySelector(".vit-bar") : null, low: text(".vit-low"), high: text(".vit-high"), about: text(".vit-about") || text(".vit-scaled") };
    const notes = [...new Set(shown.map(({ panel }) => panel.note).filter(Boolean))];
    const canvas = canvasOf(1, 1);
    compose(canvas, parts, {
      caption: describe(shown, state.get("view")), note: notes.join(" "), legend, ink: color, soft: getComputedStyle(this.said).color, paper: backgroundColor,
    });
    return this.save(await fileOf(canvas), fileName(shown[0], state.get("view"), "png"));
  }

  async csv() {
    const view = this.state.get("view") === "similarity" ? "similarity" : "attention";
    return this.save(new Blob([csv(this.shown, view)], { type: "text/csv" }), fileName(this.shown[0], view, "csv"));
  }

  async copied() {
    this.link.write();
    const own = this.state.model.own ? " It opens this page with this view, but not your photograph: that stays in your browser. To give away both, use Save as page." : "";
    const taken = this.state.tests.benches.some(({ out }) => out.length) ? " What you removed is not in it." : "";
    const copied = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    return copied.then(() => `The link was copied.${own}${taken}`, () => `This browser does not let a page copy. The link is in the address bar.${own}${taken}`);
  }

  fill() {
    if (!this.folded.open || !this.shown) return;
    const view = this.state.get("view") === "similarity" ? "similarity" : "attention";
    this.table.replaceChildren(...this.shown.map((one) => table(one, view)));
  }

  end() {
    clearTimeout(this.waiting);
    this.link?.end();
  }
}

function table(one, view) {
  const { prefix, rows } = cells(one.panel, view === "similarity" ? one.drawn : one.map);
  const cell = (value) => element("td", { text: value.toFixed(4) });
  const head = element("tr", {}, element("th", { scope: "col", text: "row" }), ...rows[0].map((_, c) => element("th", { scope: "col", text: String(c) })));
  const special = prefix.map(([name, weight]) => {
    const value = cell(weight);
    value.colSpan = one.panel.columns;
    return element("tr", { class: "vit-special" }, element("th", { scope: "row", text: name }), value);
  });
  const lines = rows.map((line, r) => element("tr", {}, element("th", { scope: "row", text: String(r) }), ...line.map(cell)));
  return element("table", {}, element("caption", { text: meaning(one, view) }), element("thead", {}, head), element("tbody", {}, ...special, ...lines));
}
