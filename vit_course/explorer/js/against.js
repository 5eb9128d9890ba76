// Compares attention with effect: where a query looks, and how much hiding each block of patches changes its output.

import { element } from "../../_support/widgets/js/element.js";
import { blockChanges, blockMeans, blocks, figure, ofToken, rankCorrelation, spreadOut } from "./effects.js";
import { SweepPart } from "./sweep_part.js";
import { Thumb } from "./thumb.js";
import { mapOf } from "./shown.js";
import { called, percent } from "./words.js";

const FEW = 20; // blocks; with fewer results no rank correlation is given
const PAUSE = 150; // ms without another query

export class Against {
  constructor(state) {
    this.state = state;
    this.words = element("p");
    this.note = element("p", { class: "vit-part-note" });
    this.maps = ["Where it looks", "What hiding changes"].map((label) => new Thumb(label));
    this.sweep = new SweepPart(state, { progress: "Blocks hidden", start: (count) => (count === 1 ? "Hide it" : `Hide all ${count}, one at a time`) });
    this.pair = element("div", { class: "vit-pair" }, ...this.maps.map(({ node }) => node));
    this.node = element("section", { class: "vit-against" },
      element("div", { class: "vit-part-title", text: "Do the bright patches matter most?" }), this.words, this.sweep.node, this.pair, this.note);
  }

  draw(one, bench) {
    const { panel } = one, cut = blocks(panel), changes = blockChanges(panel);
    this.sweep.draw(bench, changes);
    const size = cut.side === 1 ? "One patch" : `One block of ${cut.side} × ${cut.side} patches`;
    const known = ofToken(panel, changes, one.q), some = this.sweep.wanted && known.some((value) => !Number.isNaN(value));
    const text = `${size} at a time is hidden from all tokens. If the bright patches matter most, the two pictures are alike.`;
    if (this.words.textContent !== text) this.words.textContent = text;
    this.pair.hidden = this.note.hidden = !some;
    if (!some || !one.ready) return;
    const asked = [one.q, one.layer, one.head, one.fusion, one.direction, panel.decoded.filter(Boolean).length, ...known].join();
    if (asked === this.asked) return;
    this.asked = asked;
    // This part always needs the direction "from".
    const map = one.direction === "from" ? one.map : mapOf(panel, one.layer, one.head, one.fusion, one.q, "from");
    if (!map) return;
    const light = blockMeans(panel, map, cut);
    this.maps[0].draw(panel, spreadOut(panel, light, cut), one.q, percent);
    this.maps[1].draw(panel, spreadOut(panel, known, cut), one.q, figure);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.say(one, light, known, cut);
      this.node.dataset.said = one.direction; // for tests that wait for the text
    }, PAUSE);
  }

  say({ panel, q }, light, known, cut) {
    const count = known.filter((value) => !Number.isNaN(value)).length;
    const here = count < Math.min(FEW, known.length) ? NaN : rankCorrelation(light, known); // too few mean nothing
    const so = count < known.length ? `With ${count} of ${known.length} so far, the` : "The";
    const all = [];
    if (panel.decoded.includes(null)) return; // not all layers are decoded yet
    for (let layer = 0; layer < panel.layers; layer++)
      for (let head = 0; head < panel.heads; head++) {
        const found = rankCorrelation(blockMeans(panel, panel.map(layer, head, q, "from"), cut), known);
        if (!Number.isNaN(found)) all.push(found);
      }
    all.sort((a, b) => a - b);
    const among = all.length > 1 ? ` Over the maps of all ${all.length} heads it ranges from ${two(all[0])} to ${two(all.at(-1))}, with a median of ${two(all[all.length >> 1])}.` : "";
    const text = Number.isNaN(here) ? "" : `${so} rank correlation of the two for ${called(panel, q)} is ${two(here)} (1: the same order, 0: none).${among}`;
    this.note.textContent = text;
  }

  end() {
    clearTimeout(this.waiting);
    this.sweep.end();
  }
}

const two = (value) => value.toFixed(2).replace("-", "−");
