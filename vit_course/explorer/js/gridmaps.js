// Computes the maps of every layer and head for one query, in generators that start with the chosen layer, so that the
// grid can spread the work over several frames. No DOM.

import { meanInto } from "./rows.js";
import { topOf } from "./shown.js";

export class GridMaps {
  constructor(state, panel, rollout) {
    Object.assign(this, { state, panel, rollout });
    this.width = panel.heads + (rollout ? 2 : 1); // the heads, their mean, rollout
    this.maps = new Float32Array(panel.layers * this.width * panel.tokens);
    this.tops = new Float32Array(panel.layers * this.width).fill(1);
    this.known = new Uint8Array(panel.layers * this.width);
    this.fresh = new Set(); // cells that have not been drawn since they were computed
  }

  get height() {
    return this.panel.layers;
  }

  order(layer) {
    return [layer, ...Array.from({ length: this.height }, (_, l) => l).filter((l) => l !== layer)];
  }

  *work(token, direction, chosen) {
    // The heads and their means for one query: a generator that yields after each head.
    const { panel } = this;
    for (const layer of this.order(chosen)) {
      if (!panel.has(layer)) continue;
      const from = layer * this.width * panel.tokens;
      for (let head = 0; head < panel.heads; head++) {
        panel.map(layer, head, token, direction, this.maps, from + head * panel.tokens);
        yield;
      }
      meanInto(this.maps, from + panel.heads * panel.tokens, this.maps, from, panel.heads, panel.tokens);
      this.finish(layer, 0, panel.heads + 1);
    }
  }

  *rollouts(token, direction, chosen) {
    const { tokens, heads, rollout } = this.panel;
    if (!this.rollout || !rollout?.ready) return;
    for (const layer of this.order(chosen)) {
      let flow;
      for (flow of rollout.steps(layer, token, direction)) yield;
      this.maps.set(flow, (layer * this.width + heads + 1) * tokens);
      this.finish(layer, heads + 1, heads + 2);
    }
  }

  finish(layer, first, end) {
    const { prefix, tokens, heads } = this.panel;
    for (let column = first; column < end; column++) {
      const cell = layer * this.width + column;
      const fusion = column > heads ? "rollout" : "head";
      this.tops[cell] = topOf(this.state, this.panel, layer, fusion, this.maps, cell * tokens + prefix);
      this.known[cell] = 1;
      this.fresh.add(cell);
    }
  }
}
