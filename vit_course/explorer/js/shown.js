// Computes what one frame shows, once for all parts that draw it.

import { paintColours } from "./colours.js";
import { elsewhere } from "./places.js";
import { Rollout } from "./rollout.js";
import { ownTop, sampleQueries, sharedTop } from "./scales.js";
import { similarities } from "./similarity.js";

export function rolloutOf(panel) {
  panel.rollout ??= new Rollout(panel);
  return panel.rollout;
}

export function mapOf(panel, layer, head, fusion, token, direction) {
  // -> (T), or null while the rollout is being computed.
  if (fusion === "head") return panel.map(layer, head, token, direction);
  if (fusion === "mean") return panel.mean(layer, token, direction);
  const rollout = rolloutOf(panel);
  return rollout.ready ? rollout.flow(layer, token, direction) : null;
}

export function layerTop(panel, layer, fusion, direction) {
  // One top for all maps of a layer, from a fixed sample of queries, so that it does not change as the pointer moves.
  panel.tops_of ??= new Map();
  const name = `${layer} ${fusion === "rollout"} ${direction}`;
  if (!panel.tops_of.has(name) && panel.has(layer)) {
    const tops = [];
    for (const token of sampleQueries(panel.prefix, panel.patches, fusion === "rollout" ? 3 : 9))
      for (let head = 0; head < (fusion === "rollout" ? 1 : panel.heads); head++)
        tops.push(ownTop(mapOf(panel, layer, head, fusion === "rollout" ? fusion : "head", token, direction), panel.prefix, panel.patches));
    panel.tops_of.set(name, sharedTop(tops));
  }
  return panel.tops_of.get(name) ?? 1;
}

export function topOf(state, panel, layer, fusion, map, from) {
  // The weight that is drawn at full strength.
  const scale = state.get("scale");
  if (scale === "fixed") return state.get("fixed");
  if (scale === "layer") return layerTop(panel, layer, fusion, state.get("direction"));
  return ownTop(map, from, panel.patches);
}

function ofPanel(state, panel) {
  const [fusion, direction] = [state.get("fusion"), state.get("direction")];
  const layer = Math.min(state.get("layer"), panel.layers - 1);
  const head = Math.min(state.get("head"), panel.heads - 1);
  const q = elsewhere(state.query, state.first, panel, state.first);
  const key = state.key < 0 ? -1 : elsewhere(state.key, state.first, panel, state.first);
  panel.want(layer);
  const found = mapOf(panel, layer, head, fusion, q, direction);
  const ready = found !== null && panel.has(layer);
  const map = found ?? new Float32Array(panel.tokens);
  const top = ready ? topOf(state, panel, layer, fusion, map, panel.prefix) : 1;
  // drawn: the values to draw, from `low` (invisible) to `high` (full strength); in the view "attention" the map.
  return { panel, layer, head, fusion, direction, q, key, map, top, ready, drawn: map, low: 0, high: top, nearest: -1, framed: true };
}

export function show(state) {
  const shown = found(state);
  // best: the patch to mark with a ring, the brightest apart from the query.
  for (const one of shown) one.best = one.colours || one.nearest >= 0 || !one.ready ? -1 : brightest(one);
  return shown;
}

function brightest({ panel, q, drawn, phrase }) {
  if (phrase) return strongest(drawn, panel.prefix);
  const best = strongest(drawn.map((value, token) => (token === q ? -2 : value)), panel.prefix);
  return best === q || !(drawn[best] > 0) ? -1 : best; // there is no other patch, or no weight
}

function ofPhrase(panel, number) {
  // The cosines of all tokens with a phrase, drawn from the lowest to the highest of a patch.
  const drawn = panel.phraseCosines.subarray(number * panel.tokens, (number + 1) * panel.tokens);
  const patches = drawn.subarray(panel.prefix);
  return { phrase: panel.phrases[number], drawn, low: Math.min(...patches), high: Math.max(...patches), framed: false };
}

function found(state) {
  const shown = state.panels.map((panel) => ofPanel(state, panel));
  const view = state.get("view");
  if (view === "attention" || !state.panels.every((panel) => panel.features)) return shown;
  if (view === "colours") {
    const colours = paintColours(state.panels);
    shown.forEach((one, index) => (one.colours = colours[index]));
    return shown;
  }
  const phrase = state.get("phrase");
  if (phrase >= 0) {
    for (const one of shown) Object.assign(one, ofPhrase(one.panel, phrase), { ready: true });
    return shown;
  }
  const cosines = similarities(state.panels, shown[0].q);
  shown.forEach((one, index) => {
    Object.assign(one, { drawn: cosines[index], low: 0, high: 1, ready: true });
    if (index === 0) return;
    one.nearest = strongest(cosines[index], one.panel.prefix);
    one.framed = !!one.panel.link; // without a link the same place shows other content
  });
  return shown;
}

export function strongest(map, from) {
  let best = from;
  for (let k = from; k < map.length; k++) if (map[k] > map[best]) best = k;
  return best;
}
