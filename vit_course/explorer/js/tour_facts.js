// Measurements for the steps of a tour, from a panel's weights and tokens, so that no answers are stored. No DOM.

export const NAMES = ["layer", "head", "fusion", "query", "key", "pinned", "direction", "view", "scale"];

export function reading(state) {
  // The state that the steps check: the chosen values, not those under the pointer.
  const [panel] = state.panels;
  const now = { panels: state.panels, panel };
  for (const name of NAMES) now[name] = state.get(name);
  now.layer = Math.min(now.layer, panel.layers - 1);
  now.head = Math.min(now.head, panel.heads - 1);
  return now;
}

export const ready = (panel, layer) => panel.has?.(layer) ?? true;
export const patches = (panel) => panel.tokens - panel.prefix;
export const classToken = (panel) => panel.names.findIndex((name) => /class/.test(name));

export function spread(panel, most) {
  // At most `most` patches, evenly spread over the picture, where all would take too long.
  const count = Math.min(most, patches(panel));
  return Array.from({ length: count }, (_, i) => panel.prefix + Math.floor(((i + 0.5) * patches(panel)) / count));
}

export function holding(map, panel, share = 0.5) {
  // The smallest number of patches that hold this share of a map's weight on patches.
  const sorted = map.slice(panel.prefix).sort().reverse();
  const needed = share * sorted.reduce((a, b) => a + b, 0);
  let [sum, count] = [0, 0];
  while (sum < needed && count < sorted.length) sum += sorted[count++];
  return count;
}

export function largestPatch(map, panel) {
  let best = panel.prefix;
  for (let t = panel.prefix; t < panel.tokens; t++) if (map[t] > map[best]) best = t;
  return best;
}

export function meanRow(panel, layer, query) {
  const mean = new Float32Array(panel.tokens);
  for (let head = 0; head < panel.heads; head++)
    panel.map(layer, head, query, "from").forEach((weight, t) => (mean[t] += weight / panel.heads));
  return mean;
}

export function shownMap(panel, { layer, head, fusion }, token, direction) {
  // The map of one head, or the mean of all heads.
  if (fusion === "head") return panel.map(layer, head, token, direction);
  if (direction === "from") return meanRow(panel, layer, token);
  const mean = new Float32Array(panel.tokens);
  for (let h = 0; h < panel.heads; h++)
    panel.map(layer, h, token, "to").forEach((weight, t) => (mean[t] += weight / panel.heads));
  return mean;
}

const kept = new WeakMap(); // a panel's picture -> the name of a measurement -> its result

function once(panel, name, measure) {
  const of = panel.picture ?? panel;
  if (!kept.has(of)) kept.set(of, new Map());
  const known = kept.get(of);
  if (!known.has(name)) known.set(name, measure());
  return known.get(name);
}

export function looksAbove(panel, layer, head) {
  // -> {of, hits}: of `of` patches that have a patch above them, `hits` give that one the largest weight of all
  // patches.
  return once(panel, `above ${layer} ${head}`, () => {
    const asked = spread(panel, 256).filter((token) => token - panel.prefix >= panel.columns);
    const hits = asked.filter((token) => largestPatch(panel.row(layer, head, token), panel) === token - panel.columns);
    return { of: asked.length, hits: hits.length };
  });
}

export function* mostSeen(panel, layer, head) {
  // The patch that gets the most weight from all tokens together. Yields now and then, as it goes through all rows.
  const sums = new Float32Array(panel.tokens);
  for (let query = 0; query < panel.tokens; query++) {
    panel.row(layer, head, query).forEach((weight, t) => (sums[t] += weight));
    if (query % 32 === 31) yield;
  }
  return { token: largestPatch(sums, panel), sum: sums[largestPatch(sums, panel)] };
}

export function apart(panel, one, other) {
  // The distance of two patches, in patches.
  const place = (token) => [Math.floor((token - panel.prefix) / panel.columns), (token - panel.prefix) % panel.columns];
  const [[a, b], [c, d]] = [place(one), place(other)];
  return Math.hypot(a - c, b - d);
}

export function closest(values, panel, token, tenth = 0.1) {
  // The cosine that the most similar tenth of the other patches reach.
  const others = [];
  for (let t = panel.prefix; t < panel.tokens; t++) if (t !== token) others.push(values[t]);
  others.sort((a, b) => b - a);
  return others[Math.max(Math.floor(others.length * tenth) - 1, 0)];
}
