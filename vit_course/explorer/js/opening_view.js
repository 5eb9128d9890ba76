// Which head and which patch an explorer opens on, where nobody has said: the same as opening_view.py, which says why. No DOM.

const [SIDE, FAR, FEW] = [6, 0.25, 8];

function spread(count) {
  const first = count > 2 ? 1 : 0, inner = count - 2 * first, tried = Math.min(SIDE, inner);
  return Array.from({ length: tried }, (_, i) => first + Math.floor((inner * (2 * i + 1)) / (2 * tried)));
}

export function telling(panel) {
  // -> {layer, head, query}, or null; of a panel whose layers are all decoded.
  const { rows, columns, prefix, patches } = panel;
  const inside = (at, count) => count < 3 || (at > 0 && at < count - 1);
  const tried = spread(rows).flatMap((row) => spread(columns).map((column) => [row, column]));
  const counts = tried.map(([r, c]) => Array.from({ length: patches }, (_, i) => {
    const row = Math.floor(i / columns), column = i % columns;
    return inside(row, rows) && inside(column, columns) && Math.max(Math.abs(row - r) / rows, Math.abs(column - c) / columns) > FAR;
  }));
  let best = 1e-6, found = null;
  for (let layer = panel.layers >> 1; layer < panel.layers; layer++)
    for (let head = 0; head < panel.heads; head++) {
      const maps = tried.map(([r, c]) => panel.row(layer, head, prefix + r * columns + c).subarray(prefix));
      const mean = new Float64Array(patches);
      for (const map of maps) for (let i = 0; i < patches; i++) mean[i] += map[i] / maps.length;
      maps.forEach((map, q) => {
        const sum = largest(patches, (i) => (counts[q][i] ? map[i] - mean[i] : 0));
        if (sum > best) [best, found] = [sum, { layer, head, query: prefix + tried[q][0] * columns + tried[q][1] }];
      });
    }
  return found;
}

function largest(count, value) {
  // The sum of the few largest values above 0.
  const few = new Float64Array(FEW); // in rising order
  for (let i = 0; i < count; i++) {
    const one = value(i);
    if (one <= few[0]) continue;
    let at = 0;
    for (; at + 1 < FEW && few[at + 1] < one; at++) few[at] = few[at + 1];
    few[at] = one;
  }
  return few.reduce((a, b) => a + b);
}

export async function choose(model, panel) {
  // Of a picture that Python has not seen nobody has said where to look, or only of some other picture.
  if (!panel.telling) while (panel.decoded.includes(null)) await new Promise((done) => (panel.changed = done));
  const usual = { layer: panel.layers - 1, head: 0, query: 0 };
  panel.telling ??= telling(panel);
  Object.assign(model.usual, usual, panel.telling);
  for (const [name, value] of Object.entries(model.usual))
    if (model.get(name) === null) model.set(name, value);
}
