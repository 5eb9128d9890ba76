// The maps of every layer and head for one query, computed the chosen layer first and within a limit of time: what is
// left over comes in the next frame. No DOM.

import { meanInto } from "./rows.js";
import { topOf, rolloutOf } from "./shown.js";

export class GridMaps {
  constructor(state, panel) {
    Object.assign(this, { state, panel });
    this.width = panel.heads + (panel.rollsOut ? 2 : 1); // the heads, their mean, rollout
    this.maps = new Float32Array(panel.layers * this.width * panel.tokens);
    this.tops = new Float32Array(panel.layers * this.width).fill(1);
    this.known = new Uint8Array(panel.layers * this.width);
  }

  get height() {
    return this.panel.layers;
  }

  begin(token, direction, layer) {
    // The work for one query: a generator that yields after each head.
    const { layers } = this.panel;
    const order = [layer, ...Array.from({ length: layers }, (_, l) => l).filter((l) => l !== layer)];
    return this.work(token, direction, order);
  }

  *work(token, direction, order) {
    const { panel } = this;
    for (const layer of order) {
      if (!panel.has(layer)) continue;
      const from = layer * this.width * panel.tokens;
      for (let head = 0; head < panel.heads; head++) {
        panel.map(layer, head, token, direction, this.maps, from + head * panel.tokens);
        yield;
      }
      meanInto(this.maps, from + panel.heads * panel.tokens, this.maps, from, panel.heads, panel.tokens);
      this.finish(layer, 0, panel.heads + 1);
    }
    if (panel.rollsOut && rolloutOf(panel).ready) yield* this.rollouts(token, direction, order);
  }

  *rollouts(token, direction, order) {
    const { tokens, heads } = this.panel;
    for (const layer of order) {
      let flow;
      for (flow of this.panel.rollout.steps(layer, token, direction)) yield;
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
    }
  }
}
