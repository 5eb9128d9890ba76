// Attention against effect: where a query looks, beside what hiding each block of patches changes for it.

import { element } from "../../widgets/js/element.js";
import { blockChanges, blockMeans, blocks, figure, ofToken, rankCorrelation, spreadOut } from "./effects.js";
import { SweepPart } from "./sweep_part.js";
import { Thumb } from "./thumb.js";
import { called, percent } from "./words.js";

const PAUSE = 150; // ms without another query

export class Against {
  constructor(state) {
    this.state = state;
    this.words = element("p");
    this.note = element("p", { class: "vit-part-note" });
    this.maps = ["where it looks", "what hiding changes"].map((label) => new Thumb(label));
    this.sweep = new SweepPart(state, { progress: "Blocks hidden", start: (count) => `Hide each of the ${count} blocks` });
    this.pair = element("div", { class: "vit-pair" }, ...this.maps.map(({ node }) => node));
    this.node = element("section", { class: "vit-against" },
      element("div", { class: "vit-part-title", text: "Does the answer follow the light?" }), this.words, this.sweep.node, this.pair, this.note);
  }

  draw(one, bench) {
    const { panel } = one, cut = blocks(panel), changes = blockChanges(panel);
    this.sweep.draw(bench, changes);
    const size = cut.side === 1 ? "Each patch is" : `Blocks of ${cut.side} × ${cut.side} patches are`;
    const known = ofToken(panel, changes, one.q), some = known.some((value) => !Number.isNaN(value));
    const text = `${size} hidden from all tokens, one at a time. If light means that something matters, the two pictures are alike.`;
    if (this.words.textContent !== text) this.words.textContent = text;
    this.pair.hidden = this.note.hidden = !some;
    if (!some || !one.ready) return;
    const asked = [one.q, one.layer, one.head, one.fusion, one.direction, panel.decoded.filter(Boolean).length, ...known].join();
    if (asked === this.asked) return;
    this.asked = asked;
    const light = blockMeans(panel, one.map, cut);
    this.maps[0].draw(panel, spreadOut(panel, light, cut), one.q, percent);
    this.maps[1].draw(panel, spreadOut(panel, known, cut), one.q, figure);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.say(one, light, known, cut), PAUSE);
  }

  say({ panel, q, direction }, light, known, cut) {
    const here = rankCorrelation(light, known), count = known.filter((value) => !Number.isNaN(value)).length;
    const so = count < known.length ? `Over ${count} of ${known.length} blocks so far, the` : "The";
    const all = [];
    if (panel.decoded.includes(null)) return; // the other heads are not all there yet
    for (let layer = 0; layer < panel.layers; layer++)
      for (let head = 0; head < panel.heads; head++) {
        const found = rankCorrelation(blockMeans(panel, panel.map(layer, head, q, direction), cut), known);
        if (!Number.isNaN(found)) all.push(found);
      }
    all.sort((a, b) => a - b);
    const among = all.length ? ` Of the maps of all ${all.length} heads, the lowest has ${two(all[0])}, the middle one ${two(all[all.length >> 1])}, the highest ${two(all.at(-1))}.` : "";
    this.note.textContent = Number.isNaN(here) ? "" : `${so} rank correlation of this map with what changes for ${called(panel, q)} is ${two(here)} (1: the same order; 0: none).${among}`;
  }

  end() {
    clearTimeout(this.waiting);
    this.sweep.end();
  }
}

const two = (value) => value.toFixed(2).replace("-", "−");
