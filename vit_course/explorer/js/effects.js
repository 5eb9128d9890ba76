// The effects of removing parts of a model: families of changes, and numbers about their results. No DOM. A change is a
// list of interventions (live_change.js); its result is a row of T numbers, 1 - cosine(before, after) of every token.

const MOST_BLOCKS = 100; // of patches that are hidden together; changes.py forms the same blocks

const names = new WeakMap();

export function key(change) {
  if (!names.has(change)) names.set(change, JSON.stringify(change));
  return names.get(change);
}

export function headOut(layer, head, by = "token mean") {
  return { kind: "head", layer, head, by };
}

const made = new WeakMap(); // for each panel its families of changes, cached because every frame needs them

function family(panel, name, make) {
  if (!made.has(panel)) made.set(panel, new Map());
  const families = made.get(panel);
  if (!families.has(name)) families.set(name, make());
  return families.get(name);
}

// Removes each head in turn, in all layers of the model, even if the page holds only some of them.
export function headChanges(panel, by) {
  const { all_layers, heads } = panel, head = (_, i) => [headOut(Math.floor(i / heads), i % heads, by)];
  return family(panel, by, () => Array.from({ length: all_layers * heads }, head));
}

export function blocks({ rows, columns }) {
  // -> {side, rows, columns, of}: the smallest side of a block with at most 100 blocks, their rows and columns, and the
  // block of each patch.
  let side = 1;
  while (Math.ceil(rows / side) * Math.ceil(columns / side) > MOST_BLOCKS) side++;
  const across = Math.ceil(columns / side);
  const of = Array.from({ length: rows * columns }, (_, patch) =>
    Math.floor(Math.floor(patch / columns) / side) * across + Math.floor((patch % columns) / side));
  return { side, rows: Math.ceil(rows / side), columns: across, of };
}

export function blockChanges(panel) {
  return family(panel, "patches", () => {
    const cut = blocks(panel), patches = Array.from({ length: cut.rows * cut.columns }, () => []);
    cut.of.forEach((block, patch) => patches[block].push(patch));
    return patches.map((some) => [{ kind: "hide", patches: some }]);
  });
}

export function ofToken(panel, changes, token) {
  // -> the effect of each change on a token; NaN where it is not known yet.
  return Float32Array.from(changes, (change) => panel.known.get(key(change))?.row[token] ?? NaN);
}

export function blockMeans(panel, map, { of, rows, columns }) {
  // A map (T) -> the mean weight of the patches of each block.
  const sums = new Float32Array(rows * columns), counts = new Float32Array(rows * columns);
  of.forEach((block, patch) => {
    sums[block] += map[panel.prefix + patch];
    counts[block] += 1;
  });
  return sums.map((sum, block) => sum / counts[block]);
}

export function spreadOut(panel, values, { of }) {
  // A value for each block -> a map (T), 0 where there is none yet.
  const map = new Float32Array(panel.tokens);
  of.forEach((block, patch) => (map[panel.prefix + patch] = values[block] || 0));
  return map;
}

function ranks(values) {
  // Ranks from 0; equal values share the mean of their ranks.
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]), found = new Float64Array(values.length);
  for (let from = 0, to; from < order.length; from = to) {
    for (to = from + 1; to < order.length && values[order[to]] === values[order[from]]; ) to++;
    for (let i = from; i < to; i++) found[order[i]] = (from + to - 1) / 2;
  }
  return found;
}

export function rankCorrelation(one, other) {
  // Spearman's rank correlation, where neither is NaN; NaN for fewer than three values, or if all are equal.
  const both = Array.from(one.keys()).filter((i) => !Number.isNaN(one[i]) && !Number.isNaN(other[i]));
  if (both.length < 3) return NaN;
  const [a, b] = [one, other].map((values) => ranks(both.map((i) => values[i])));
  const middle = (both.length - 1) / 2;
  let [sum, left, right] = [0, 0, 0];
  a.forEach((rank, i) => {
    sum += (rank - middle) * (b[i] - middle);
    left += (rank - middle) ** 2;
    right += (b[i] - middle) ** 2;
  });
  return left && right ? sum / Math.sqrt(left * right) : NaN;
}

export function differsFrom(out) {
  // The first layer whose maps a change can alter: hiding acts in its own layer, a removed output in the next one.
  return Math.min(...out.map((one) => (one.kind === "hide" ? Math.min(...(one.layers ?? [0])) : one.layer + 1)));
}

export function called(one) {
  // Names an intervention, to follow the word "without".
  if (one.kind === "head") return `layer ${one.layer}, head ${one.head}`;
  if (one.kind === "branch") return `the ${one.branch === "mlp" ? "MLP" : "attention"} of layer ${one.layer}`;
  return one.patches.length === 1 ? "one patch" : `${one.patches.length} patches`;
}

export function changed(panel, out, row, q, named) {
  // Describes the result of a change in words; named(panel, token) names a token.
  const most = row.subarray(panel.prefix).reduce((best, value, i) => (value > row[best] ? panel.prefix + i : best), panel.prefix);
  const patches = row.slice(panel.prefix).sort(), middle = patches[patches.length >> 1];
  const tokens = [...new Set([q, panel.prefix ? 0 : q])];
  const each = tokens.map((token) => `${named(panel, token)} by ${figure(row[token])}`).join(" and ");
  return `Without ${out.map(called).join(" and ")}, the output of the model changes for ${each} (1 − cosine: 0 is no change). `
    + `The patch in ${panel.name(most)} changes most, by ${figure(row[most])}. Half of all patches change by less than ${figure(middle).replace("under ", "")}.`;
}

export const figure = (value) => (value >= 0.0995 ? value.toFixed(2) : value >= 0.00095 ? value.toFixed(3) : value > 0 ? "under 0.001" : "0");
