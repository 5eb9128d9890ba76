// The model's prediction, and the logit lens: the head's prediction from the class token after each layer. No DOM.

export function classes(says, count = 5) {
  // -> shown: [{label, probability}], the most probable first; others: the number of other classes; rest: their
  // probability.
  const order = says.labels.map((label, i) => ({ label, probability: says.probabilities[i] }));
  order.sort((a, b) => b.probability - a.probability);
  const shown = order.slice(0, count);
  return { shown, others: order.length - shown.length, rest: Math.max(1 - shown.reduce((sum, { probability }) => sum + probability, 0), 0) };
}

export function reached(panel, layer) {
  // The row of the lens for a layer; row 0 is before the first. A stored copy with only some layers may still have the
  // lens of all.
  const { lens } = panel.says;
  return lens.length === panel.layers + 1 ? layer + 1 : panel.layer_numbers[layer] + 1;
}

function first(row) {
  return row.reduce((best, value, i) => (value > row[best] ? i : best), 0);
}

export function settled(lens) {
  // -> {index, row}: the final prediction, and the row from which on the prediction does not change.
  const index = first(lens.at(-1));
  let row = lens.length - 1;
  while (row > 0 && first(lens[row - 1]) === index) row--;
  return { index, row };
}

export const percent = (value) => `${(100 * value).toFixed(value >= 0.0995 ? 0 : 1)}\u00a0%`;

export function afterLayer(row) {
  return row === 0 ? "before the first layer" : `after layer ${row - 1}`;
}

export function reading(says, row, count = 3) {
  // The values at one place of the curve: "after layer 7: cat 54 %, dog 20 %".
  const order = Array.from(says.lens[row].keys()).sort((a, b) => says.lens[row][b] - says.lens[row][a]);
  return `${afterLayer(row)}: ${order.slice(0, count).map((i) => `${says.labels[i]} ${percent(says.lens[row][i])}`).join(", ")}`;
}

export function told(says) {
  // A sentence on when the model settles on its prediction.
  const { index, row } = settled(says.lens);
  const label = says.labels[index];
  if (row === 0) return `The head already says “${label}” before the first layer, and after every layer.`;
  if (row === says.lens.length - 1) return `The head settles on “${label}” only after the last layer.`;
  return `After layer ${row - 1} the head says “${label}” and does not change any more.`;
}

export function drawnClasses(says, count = 3) {
  // The classes whose curves are drawn: the final prediction, and those with the highest peaks.
  const last = first(says.lens.at(-1));
  const peak = (i) => (i === last ? Infinity : Math.max(...says.lens.map((row) => row[i])));
  return Array.from(says.labels.keys()).sort((a, b) => peak(b) - peak(a)).slice(0, count);
}
