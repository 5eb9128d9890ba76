// Explains one attention weight: the query, the key, their product, and the softmax of the score. No DOM.

import { histogram, ofEven, place, rankOf, share, signed, times } from "./ranks.js";

const means = new WeakMap(); // a panel's picture -> "layer head" -> the mean key

function meanKey(panel, layer, head) {
  const of = panel.picture ?? panel;
  if (!means.has(of)) means.set(of, new Map());
  const [kept, name] = [means.get(of), `${layer} ${head}`];
  if (!kept.has(name)) {
    const mean = new Float64Array(panel.dim);
    for (let t = 0; t < panel.tokens; t++) panel.key(layer, head, t).forEach((value, i) => (mean[i] += value / panel.tokens));
    kept.set(name, mean);
  }
  return kept.get(name);
}

export function explain(panel, layer, head, query, key) {
  // -> the numbers behind one weight, or null if queries and keys were not sent or are not decoded yet.
  const q = panel.kind === "qk" ? panel.query(layer, head, query) : null;
  if (!q) return null;
  const k = panel.key(layer, head, key);
  const scores = panel.scores(layer, head, query);
  const weights = panel.row(layer, head, query);
  const mean = meanKey(panel, layer, head);
  const product = q.map((value, i) => value * k[i]);
  // The product with the mean key is common to all keys and cancels in the softmax; the rest is this key's own part.
  const own = q.map((value, i) => value * (k[i] - mean[i]));
  const sum = product.reduce((a, b) => a + b, 0);
  return {
    query, key, q, k, product, own, sum, score: sum * panel.scale, scale: panel.scale, tokens: panel.tokens,
    ownSum: own.reduce((a, b) => a + b, 0),
    average: scores.reduce((a, b) => a + b, 0) / panel.tokens,
    weight: weights[key], times: weights[key] * panel.tokens, rank: rankOf(scores, key),
    ...histogram(scores, weights),
  };
}

const round = (value) => Math.round(value * 100) / 100;

export function added({ sum, product, scale, score, ownSum }) {
  // The sums as text with two decimals, rounded so that the shown numbers add up.
  const root = Math.round(scale ** -2);
  const factor = Math.abs(scale * Math.sqrt(root) - 1) < 1e-5 ? `/ √${root}` : `× ${Number(scale.toFixed(4))}`;
  const plus = round(product.reduce((a, b) => a + Math.max(b, 0), 0));
  const [total, own] = [round(sum), round(ownSum)];
  const [first, second] = [signed(total - own), own < 0 ? `(${signed(own)})` : signed(own)];
  return {
    mean: first,
    whole: `(${first} + ${second}) ${factor} = ${signed(score)}`,
    parts: `${signed(plus)} − ${signed(plus - total)} = ${signed(total)}`,
    scaled: `${signed(total)} ${factor} = ${signed(score)}`,
    shared: `${first} + ${second}`,
  };
}

export function cause(own) {
  // The up to three dimensions that contribute most to this key's own part, in the direction of its sum.
  const up = own.reduce((a, b) => a + b, 0) >= 0;
  const order = Array.from(own.keys()).sort((a, b) => (up ? own[b] - own[a] : own[a] - own[b]));
  const chosen = order.slice(0, 3).filter((i) => (up ? own[i] > 0 : own[i] < 0));
  return { up, dimensions: chosen, brings: chosen.reduce((sum, i) => sum + own[i], 0) };
}

function list(numbers) {
  return numbers.length < 2 ? numbers.join("") : `${numbers.slice(0, -1).join(", ")} and ${numbers.at(-1)}`;
}

export function because(found, panel) {
  // -> sentences that answer "why there?".
  const name = (token) => (token < panel.prefix ? `the ${panel.name(token)}` : `the patch in ${panel.name(token)}`);
  const asks = name(found.query);
  const asked = found.key === found.query ? "itself" : name(found.key);
  const { up, dimensions, brings } = cause(found.own);
  const { mean, whole } = added(found);
  const one = dimensions.length === 1;
  const where = `${one ? "dimension" : "dimensions"} ${list(dimensions)} ${one ? "makes" : "make"}`;
  const more = up ? "larger" : "smaller";
  const own = dimensions.length
    ? `With this key the sum is ${signed(Math.abs(round(found.ownSum)))} ${more}, most of all because ${where} it ${signed(brings < 0 ? -brings : brings)} ${more}.`
    : "This key gives the same sum.";
  return [
    `${asks[0].toUpperCase()}${asks.slice(1)} gives ${share(found.weight)} of its attention to ${asked}, ${ofEven(found.times)}.`,
    `Query times average key adds up to ${mean} over the ${found.q.length === 1 ? "one dimension" : `${found.q.length} dimensions`}. ${own}`,
    `So the score is ${whole}, ${place(found.rank, found.tokens)}. ${softened(found)}`,
  ];
}

function softened({ score, average, times: share }) {
  // A sentence on the effect of the softmax.
  const far = Math.exp(Math.abs(score - average));
  const shown = far >= 1000 ? "more than 1,000" : times(far);
  if (score < average) return `The softmax gives a key of average score ${shown} times as much.`;
  if (share < 1)
    return "Above average, and still less than an even share: the softmax favours the highest few.";
  return `The softmax gives it ${shown} times as much as a key of average score.`;
}

export function aside({ drawn, map, colours, panel, layer, head, ready }, other) {
  // If the picture shows something else than attention: a sentence on what it shows, and that the rest is about
  // attention. Otherwise "".
  const rest = `What follows is the attention of head ${head} in layer ${panel.layer_numbers[layer]}, which is another question.`;
  if (colours) return `Colours compare the tokens after the last layer: there is no query and no key. ${rest}`;
  if (!ready || drawn === map) return "";
  return `These two tokens have a cosine of ${drawn[other].toFixed(2)} after the last layer; that is what the light shows. ${rest}`;
}

export function cannot(panel, fusion) {
  // -> a sentence on why a weight cannot be explained, or "".
  if (panel.kind !== "qk")
    return "Only the attention weights of this model were recorded, not its queries and keys, so the score behind a weight cannot be shown.";
  if (fusion === "mean") return "A mean of heads has no query and key of its own. Choose one head to see why it looks there.";
  if (fusion === "rollout") return "Rollout follows many layers and has no query and key of its own. Choose one head to see why it looks there.";
  return "";
}
