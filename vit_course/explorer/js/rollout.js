// Rollout (Abnar and Zuidema 2020): half attention, half residual, through all layers up to a given one. It needs the
// complete mean map of every layer, which are computed once, on first use, in slices between the frames.

import { background } from "./background.js";

export class Rollout {
  constructor(panel) {
    this.panel = panel;
    this.means = []; // Float32Array (T, T) of each layer
    this.progress = 0; // from 0 to 1
    this.ready = false;
    background(this.build());
  }

  *build() {
    const { layers, tokens, picture } = this.panel;
    for (let layer = 0; layer < layers; layer++) {
      while (!this.panel.has(layer)) yield;
      const mean = new Float32Array(tokens * tokens);
      for (let q = 0; q < tokens; q++) {
        if (this.panel.closed || this.panel.picture !== picture) return; // the panel is closed, or has another picture
        this.panel.mean(layer, q, "from", mean, q * tokens);
        this.progress = (layer + q / tokens) / layers;
        if (q % 64 === 0) this.panel.changed();
        yield;
      }
      this.means.push(mean);
    }
    this.ready = true;
    this.panel.changed();
  }

  flow(layer, token, direction) {
    // -> (T)
    let last;
    for (const flow of this.steps(layer, token, direction)) last = flow;
    return last;
  }

  *steps(layer, token, direction) {
    // Yields after each layer, so that a caller may pause there.
    const { tokens } = this.panel;
    let flow = new Float32Array(tokens);
    flow[token] = 1;
    for (let i = 0; i <= layer; i++) {
      flow = direction === "to" ? through(this.means[i], flow) : back(this.means[layer - i], flow);
      yield flow;
    }
  }
}

export function back(mean, flow) {
  // flow (half identity, half mean): from a query down.
  const tokens = flow.length;
  const next = flow.map((weight) => weight / 2);
  for (let q = 0; q < tokens; q++) {
    const share = flow[q] / 2;
    if (share > 0) for (let k = 0, at = q * tokens; k < tokens; k++) next[k] += share * mean[at + k];
  }
  return next;
}

export function through(mean, flow) {
  // (half identity, half mean) flow: from a key up.
  const tokens = flow.length;
  return flow.map((weight, q) => {
    let sum = 0;
    for (let k = 0, at = q * tokens; k < tokens; k++) sum += mean[at + k] * flow[k];
    return (weight + sum) / 2;
  });
}
