// The part "Test it": removes heads, branches and patches from the model, and shows the effects.

import { Against } from "./against.js";
import { button, element } from "../../_support/widgets/js/element.js";
import { remembered } from "./controls.js";
import { called, changed, differsFrom, figure, headOut, key } from "./effects.js";
import { NOBODY } from "./lab.js";
import { chartOf } from "./says_part.js";
import { Thumb } from "./thumb.js";
import { called as named } from "./words.js";

const SUMMARY = "Test it: remove a part and see what changes";
const INTERRUPTED = "Another request came in between: press again.";

// A button with a name, by which explorer.js restores its focus after the whole explorer is built anew.
function kept(name, text, act) {
  const node = button(text, act);
  node.dataset.kept = name;
  return node;
}

const group = (label, ...nodes) =>
  element("div", { class: "vit-tools-buttons", role: "group", "aria-label": label }, element("span", { text: `${label}:`, "aria-hidden": "true" }), ...nodes);

export class Without {
  // state.tests: the Tests of all panels (lab.js).
  constructor(state) {
    this.state = state;
    if (!state.tests.any && !state.panels.some((panel) => panel.had_model)) return; // no node, no part
    for (const bench of state.tests.benches) bench.patch = (token) => this.patch(bench, token);
    this.takes = [0, 1, 2].map((i) => kept(`take-${i}`, "", () => this.toggle(this.ones[i])));
    this.hide = kept("hide", "The framed patch", () => this.patch(this.bench, this.one.q));
    this.cover = kept("cover", "Choose patches", () => this.covers(!this.bench.covering));
    this.back = kept("back", "Put everything back", () => (this.put([]), this.takes[0].focus()));
    this.out = element("ul", { class: "vit-out", "aria-label": "Removed" });
    this.said = element("p", { class: "vit-without-said", role: "status" });
    this.map = new Thumb("how much each patch changes");
    this.says = element("div", { class: "vit-without-says" });
    this.beside = kept("beside", "Compare the maps", () => this.compare());
    this.against = new Against(state);
    this.result = element("div", { class: "vit-result" }, this.map.node, element("div", { class: "vit-result-words" }, this.said, this.beside, this.says));
    this.nobody = element("p", { class: "vit-part-note", text: NOBODY });
    [this.remove, this.hiding] = [group("Remove", ...this.takes), group("Hide", this.hide, this.cover)];
    const without = element("section", {}, element("div", { class: "vit-part-title", text: "Without it" }),
      this.remove, this.hiding, this.nobody, this.out, this.result);
    this.node = element("details", { class: "vit-lab" }, element("summary", { text: SUMMARY }),
      element("div", { class: "vit-lab-body" }, without, this.against.node));
    this.node.open = state.get("testing");
    remembered(this.node, state, "testing");
    this.node.addEventListener("toggle", () => this.node.open || this.covers(false));
  }

  get bench() {
    const { tests, panels, pointed } = this.state;
    return tests.of(panels[pointed]);
  }

  draw(shown) {
    if (this.node.open !== this.state.get("testing")) this.node.open = this.state.get("testing");
    const { bench } = this, at = this.state.tests.benches.indexOf(bench);
    this.one = shown[at];
    if (!this.node.open) return;
    const { panel, head, q } = this.one, layer = panel.layer_numbers[this.one.layer];
    const texts = [`Layer ${layer}, head ${head}`, `Attention of layer ${layer}`, `MLP of layer ${layer}`];
    this.ones = [headOut(layer, head), ...["attention", "mlp"].map((branch) => ({ kind: "branch", layer, branch }))];
    this.takes.forEach((node, i) => {
      if (node.textContent !== texts[i]) node.textContent = texts[i];
      node.setAttribute("aria-pressed", String(this.has(this.ones[i])));
      node.hidden = !bench.can(this.toggled(this.ones[i])); // a button that could only be grey
    });
    this.remove.hidden = this.takes.every(({ hidden }) => hidden);
    this.hiding.hidden = !bench.lab;
    this.against.node.hidden = !bench.lab && !panel.known.size;
    this.nobody.hidden = !!bench.lab;
    this.cover.textContent = bench.covering ? "Done" : "Choose patches";
    this.cover.setAttribute("aria-pressed", String(bench.covering));
    this.hide.setAttribute("aria-pressed", String(bench.hidden.includes(q - panel.prefix)));
    this.hide.disabled = q < panel.prefix;
    this.against.draw(this.one, bench);
    const found = bench.out.length && panel.known.get(key(bench.out));
    this.result.hidden = !bench.out.length;
    this.list(bench);
    if (found) this.map.draw(panel, found.row, q, figure);
    this.say(bench, found, q);
  }

  list(bench) {
    const names = bench.out.map(called).join();
    if (names === this.listed) return;
    this.listed = names;
    const held = this.out.contains(document.activeElement);
    const chips = bench.out.map((one) => {
      const node = button(`${called(one)} ×`, () => this.toggle(one));
      node.setAttribute("aria-label", `Put back ${called(one)}`);
      return element("li", {}, node);
    });
    this.out.replaceChildren(...chips, ...(chips.length ? [element("li", {}, this.back)] : []));
    if (held) (this.out.querySelector("button") ?? this.takes[0]).focus({ preventScroll: true });
  }

  say(bench, found, q) {
    const { panel } = bench, { compared } = this.state.tests, last = panel.all_layers, from = compared && bench.out.length ? differsFrom(bench.out) : 0;
    const differ = !from ? "" : from < last ? ` The maps can differ only from layer ${from} on.` : " No map changes, as no layer comes after.";
    const text = bench.words || (found ? changed(panel, bench.out, found.row, q, named) + differ : bench.out.length ? "Computing ..." : "");
    if (this.said.textContent !== text) this.said.textContent = text;
    this.map.node.hidden = !found;
    const says = found?.says, asked = says && key([bench.out, says.probabilities]);
    this.beside.hidden = !found || !bench.lab;
    this.beside.textContent = compared ? "Stop comparing" : "Compare the maps";
    if (asked === this.asked) return;
    this.asked = asked;
    this.says.replaceChildren(...(says && panel.says ? this.words(panel, says) : []));
  }

  words(panel, says) {
    // The predictions before and after the change; folded for a head of few classes, of which none may fit.
    const one = (title, given) => element("div", { class: "vit-says" }, element("div", { class: "vit-says-title", text: title }), chartOf(this.state, { ...panel, says: given }));
    const pair = element("div", { class: "vit-pair" }, one("before", panel.says), one("without it", says));
    if (panel.says.none === undefined) return [pair];
    return [element("details", {}, element("summary", { text: "What a toy head of ten words says" }), pair)];
  }

  has(one) {
    return this.bench.out.some((other) => key([other]) === key([one]));
  }

  toggled(one) {
    const { out } = this.bench, rest = out.filter((other) => key([other]) !== key([one]));
    return [...rest, ...(rest.length < out.length ? [] : [one])].sort((a, b) => (key([a]) < key([b]) ? -1 : 1));
  }

  toggle(one) {
    this.put(this.toggled(one));
  }

  patch(bench, token) {
    // Hides a patch, or shows it again.
    const patch = token - bench.panel.prefix, rest = bench.hidden.filter((other) => other !== patch);
    const hidden = rest.length < bench.hidden.length ? rest : [...rest, patch].sort((a, b) => a - b);
    this.put([...bench.out.filter(({ kind }) => kind !== "hide"), ...(hidden.length ? [{ kind: "hide", patches: hidden }] : [])], bench);
  }

  covers(on) {
    // Whether clicks on the photograph hide patches instead of pinning them.
    this.bench.covering = on;
    this.state.schedule();
  }

  async put(out, bench = this.bench) {
    const { state } = this;
    Object.assign(bench, { out, words: "" });
    state.schedule();
    if (!out.length) return state.tests.compared && state.tests.compare(null);
    const told = await bench.ask([out], !!bench.lab, () => bench.out === out);
    if (bench.out !== out) return; // something else was chosen meanwhile
    if (told?.described) bench.told = told;
    bench.words = told ? told.words ?? "" : INTERRUPTED;
    if (told?.described && state.tests.compared) state.tests.compare(bench);
    bench.schedule();
  }

  compare() {
    const { state, bench } = this, { tests } = state;
    if (tests.compared) return tests.compare(null);
    // Go to the first layer whose maps can differ.
    const from = bench.panel.layer_numbers.indexOf(differsFrom(bench.out));
    if (from > state.get("layer")) state.set({ layer: from });
    tests.compare(bench, true);
  }

  end() {
    this.against.end();
  }
}
