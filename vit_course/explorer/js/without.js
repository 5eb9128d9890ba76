// "Test it": heads, branches and patches are taken out of the model, and the page shows what follows.

import { Against } from "./against.js";
import { button, element } from "../../widgets/js/element.js";
import { called, changed, differsFrom, figure, headOut, key } from "./effects.js";
import { chartOf } from "./says_part.js";
import { Thumb } from "./thumb.js";
import { called as named } from "./words.js";

const SUMMARY = "Test it: take something out, and see what changes";

export class Without {
  // state.tests: what can be asked of each panel's model (lab.js).
  constructor(state) {
    this.state = state;
    if (!state.tests.any) return; // no node, no part
    this.takes = [0, 1, 2].map((i) => button("", () => this.toggle(this.ones[i])));
    this.hide = button("The framed patch", () => this.patch(this.one.q));
    this.cover = button("Patches, by a click", () => this.covers(!this.state.tests.covering));
    this.back = button("Put all back", () => this.put([]));
    this.out = element("ul", { class: "vit-out", "aria-label": "Taken out" });
    this.said = element("p", { class: "vit-without-said", role: "status" });
    this.map = new Thumb("how much each token changes");
    this.says = element("div", { class: "vit-without-says" });
    this.beside = button("Show its maps beside", () => state.tests.compare(state.tests.compared ? null : this.bench));
    this.against = new Against(state);
    this.result = element("div", { class: "vit-result" }, this.map.node, element("div", { class: "vit-result-words" }, this.said, this.beside, this.says));
    const buttons = element("div", { class: "vit-tools-buttons", role: "group", "aria-label": "Take out" }, ...this.takes, this.hide, this.cover, this.back);
    this.node = element("details", { class: "vit-lab" }, element("summary", { text: SUMMARY }),
      element("div", { class: "vit-lab-body" },
        element("section", {}, element("div", { class: "vit-part-title", text: "Without it" }), buttons, this.out, this.result),
        this.against.node));
    this.node.addEventListener("toggle", () => {
      if (this.node.open !== state.get("testing")) state.set({ testing: this.node.open });
      if (!this.node.open) this.covers(false);
    });
  }

  get bench() {
    const { tests: { benches }, pointed } = this.state;
    return benches[pointed]?.panel.changed_model ? benches[0] : benches[pointed];
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
      node.setAttribute("aria-pressed", String(bench.out.some((one) => key([one]) === key([this.ones[i]]))));
    });
    this.cover.setAttribute("aria-pressed", String(!!this.state.tests.covering));
    this.hide.setAttribute("aria-pressed", String(bench.hidden.includes(q - panel.prefix)));
    this.hide.disabled = q < panel.prefix;
    this.back.hidden = !bench.out.length;
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
    this.out.replaceChildren(...bench.out.map((one) => {
      const node = button(`${called(one)} ×`, () => this.toggle(one));
      node.setAttribute("aria-label", `Put back ${called(one)}`);
      return element("li", {}, node);
    }));
  }

  say(bench, found, q) {
    const { panel } = bench;
    const from = this.state.tests.compared && bench.out.length ? ` The maps beside each other differ from layer ${differsFrom(bench.out)} on.` : "";
    const text = bench.words || (found ? changed(panel, bench.out, found.row, q, named) + from : bench.out.length ? "Computing ..." : "");
    if (this.said.textContent !== text) this.said.textContent = text;
    this.map.node.hidden = !found;
    const says = found?.says, asked = says && key([bench.out, says.probabilities]);
    this.beside.hidden = !found || !bench.lab;
    this.beside.textContent = this.state.tests.compared ? "Show the model as it is" : "Show its maps beside";
    if (asked === this.asked) return;
    this.asked = asked;
    this.says.replaceChildren(...(says && panel.says ? this.words(panel, says) : []));
  }

  words(panel, says) {
    // What the model says, as it was and as it is now: in words only where they are honest.
    const one = (title, given) => element("div", { class: "vit-says" }, element("div", { class: "vit-says-title", text: title }), chartOf(this.state, { ...panel, says: given }));
    const pair = element("div", { class: "vit-pair" }, one("as it was", panel.says), one("without it", says));
    if (panel.says.none === undefined) return [pair];
    return [element("details", {}, element("summary", { text: "What a toy head of ten words says" }), pair)];
  }

  toggle(one) {
    const { out } = this.bench, name = key([one]);
    this.put(out.some((other) => key([other]) === name) ? out.filter((other) => key([other]) !== name) : [...out, one]);
  }

  patch(token) {
    // Hides it, or shows it again.
    const { bench } = this, patch = token - bench.panel.prefix;
    const hidden = bench.hidden.includes(patch) ? bench.hidden.filter((other) => other !== patch) : [...bench.hidden, patch];
    const one = hidden.length ? [{ kind: "hide", patches: hidden.sort((a, b) => a - b) }] : [];
    this.put([...bench.out.filter(({ kind }) => kind !== "hide"), ...one]);
  }

  covers(on) {
    // Clicks on the photograph hide patches instead of pinning them.
    this.state.tests.covering = on ? (panel, token) => panel === this.bench.panel && token >= panel.prefix && (this.patch(token), true) : null;
    this.state.schedule();
  }

  async put(out) {
    const { bench, state } = this;
    out = [...out].sort((a, b) => (key([a]) < key([b]) ? -1 : 1));
    Object.assign(bench, { out, words: "" });
    state.schedule();
    if (!out.length) return state.tests.compared && state.tests.compare(null);
    const told = await bench.ask([out], !!bench.lab);
    if (bench.out !== out) return; // something else was chosen meanwhile
    if (told?.words) bench.words = told.words;
    else if (told?.described) {
      bench.told = told;
      if (state.tests.compared) state.tests.compare(bench);
    }
    state.schedule();
  }

  end() {
    this.against.end();
  }
}
