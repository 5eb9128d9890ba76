// One layer of a panel, decoded: queries and keys, or the weights themselves.

import { perHead } from "../../_support/widgets/js/bytes.js";
import { columnInto, rowInto, scoresInto, strideOf } from "./rows.js";

export class VectorsLayer {
  static async of(panel, layer) {
    const { heads, tokens, dim, query_steps, key_steps } = panel;
    const [stride, from] = [strideOf(dim), layer * heads * dim];
    const made = new VectorsLayer();
    const queries = await panel.planes("queries", layer);
    made.queries = perHead(queries, query_steps, from, heads, tokens, dim, stride);
    const keys = await panel.planes("keys", layer);
    made.keys = perHead(keys, key_steps, from, heads, tokens, dim, stride);
    const hidden = panel.hidden?.[layer] ?? []; // patches that no token may read here
    return Object.assign(made, { panel, stride, from, hidden, lseAt: layer * heads * tokens });
  }

  row(head, query, out, to) {
    const { tokens, scale, lse } = this.panel;
    const at = head * tokens * this.stride;
    rowInto(out, to, this.queries, this.keys, at, query, tokens, this.stride, scale, lse, this.lseAt + head * tokens);
    for (const patch of this.hidden) out[to + this.panel.prefix + patch] = 0;
  }

  column(head, key, out, to) {
    const { tokens, scale, lse } = this.panel;
    const at = head * tokens * this.stride;
    if (this.hidden.includes(key - this.panel.prefix)) return out.fill(0, to, to + tokens);
    columnInto(out, to, this.queries, this.keys, at, key, tokens, this.stride, scale, lse, this.lseAt + head * tokens);
  }

  query(head, token) {
    const at = (head * this.panel.tokens + token) * this.stride;
    return this.queries.slice(at, at + this.panel.dim);
  }

  key(head, token) {
    // Kept less their mean over the tokens, which changes no weight.
    const { tokens, dim, key_means } = this.panel;
    const at = (head * tokens + token) * this.stride;
    return this.keys.slice(at, at + dim).map((value, c) => value + key_means[this.from + head * dim + c]);
  }

  scores(head, query) {
    // Of the true keys: those of the kept ones, and what the mean adds to each.
    const { tokens, dim, scale, key_means } = this.panel;
    const out = new Float32Array(tokens);
    const at = head * tokens * this.stride;
    scoresInto(out, 0, this.queries, at + query * this.stride, this.keys, at, tokens, this.stride, scale);
    const added = this.query(head, query).reduce((sum, q, c) => sum + q * key_means[this.from + head * dim + c], 0);
    return out.map((score) => score + scale * added);
  }
}

export class MapsLayer {
  static async of(panel, layer) {
    return Object.assign(new MapsLayer(), { panel, layer, weights: panel.take("weights", layer) });
  }

  row(head, query, out, to) {
    const { tokens, heads, tops } = this.panel;
    const [at, share] = [(head * tokens + query) * tokens, tops[(this.layer * heads + head) * tokens + query] / 255];
    for (let k = 0; k < tokens; k++) out[to + k] = this.weights[at + k] * share;
  }

  column(head, key, out, to) {
    const { tokens, heads, tops } = this.panel;
    const from = (this.layer * heads + head) * tokens;
    for (let q = 0, at = head * tokens * tokens + key; q < tokens; q++, at += tokens)
      out[to + q] = (this.weights[at] * tops[from + q]) / 255;
  }
}
