// The similarity of tokens: the cosine between them, after the model's last norm. No DOM.

const kept = new WeakMap(); // features -> the length of each token

function lengths(features, tokens) {
  if (!kept.has(features)) {
    const width = features.length / tokens;
    const found = new Float32Array(tokens);
    for (let t = 0; t < tokens; t++) {
      let sum = 0;
      for (let i = t * width; i < (t + 1) * width; i++) sum += features[i] * features[i];
      found[t] = Math.sqrt(sum) || 1; // a token of zeros gets the cosine 0
    }
    kept.set(features, found);
  }
  return kept.get(features);
}

export function comparable(from, to) {
  // Whether the tokens of two panels can be compared: both were sent, and have the same width.
  return !!from.features && !!to.features && from.features.length / from.tokens === to.features.length / to.tokens;
}

export function cosines(from, token, to = from, out = new Float32Array(to.tokens)) {
  // -> for each token of the panel `to` its cosine with one token of the panel `from`.
  const width = from.features.length / from.tokens;
  const a = from.features.subarray(token * width, (token + 1) * width);
  const length = lengths(from.features, from.tokens)[token];
  const others = lengths(to.features, to.tokens);
  for (let t = 0, at = 0; t < to.tokens; t++, at += width) {
    let [sum, more] = [0, 0];
    let i = 0;
    for (; i + 1 < width; i += 2) {
      sum += a[i] * to.features[at + i];
      more += a[i + 1] * to.features[at + i + 1];
    }
    if (i < width) sum += a[i] * to.features[at + i];
    out[t] = (sum + more) / (length * others[t]);
  }
  return out;
}

export function nearest(values, panel, not = -1) {
  // -> the patch with the largest value, except the token `not`.
  let best = panel.prefix === not ? panel.prefix + 1 : panel.prefix;
  for (let t = panel.prefix; t < panel.tokens; t++) if (t !== not && values[t] > values[best]) best = t;
  return best;
}

export function correspondence(panels, token) {
  // For one token of the first panel: in each panel the cosines to it, and the most similar patch, except itself.
  // -> [{values, best} or null where the panel's tokens cannot be compared with the first one's]
  return similarities(panels, token).map((values, i) =>
    values && { values, best: nearest(values, panels[i], i === 0 ? token : -1) });
}

export function similarities(panels, token) {
  // -> for each panel the cosines of its tokens to one of the first panel; null where they cannot be compared.
  return panels.map((panel) => (comparable(panels[0], panel) ? cosines(panels[0], token, panel) : null));
}
