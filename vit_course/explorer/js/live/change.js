// Interventions in a running model: their format, the plan for the engine, and the result. No page, worker or model.
//
// An intervention is one of
//   {kind: "head", layer, head, by}                       its output, before the projection, replaced by the mean over
//                                                         its tokens ("token mean", the default) or by "zero"
//   {kind: "hide", patches: [...], layers: [...]}         no token may read these patches, numbered row by row from 0,
//                                                         in these layers (all, when none are named)
//   {kind: "branch", layer, branch: "attention" | "mlp"}  the branch adds nothing
//   {kind: "tokens", layer, tokens: [...], values}        what enters the layer, replaced: a Float32Array (n, D)
// Layers and heads count from 0. Several interventions can be combined; if two contradict, the later one wins.
//
// `Models.change(interventions, {maps})` (live_models.js) gives a promise of
//   null       superseded by a newer change or another picture
//   {words}    it failed: a sentence for the visitor
//   or else    {first, cosines, says, hidden, times, panel, data}
//     first      the first layer that was computed anew; L where nothing is changed
//     cosines    Float32Array (L + 1, T): the cosine of each token to itself before the change, after each layer and,
//                in the last row, after the last norm; token 0 is the class token
//     says       the predictions of the changed model, as `says` of a panel; null if the page shows none for the model
//     hidden     for each layer the patches that are hidden in it; needed to draw the maps, as `data` holds queries and
//                keys of all tokens, and sums over the visible keys only
//     times      {computing, layers}: milliseconds, and how many layers they were for
//     panel, data  the changed model's panel for the explorer, if maps were asked for; otherwise undefined
// A change applies to the picture whose answer came last.

const BRANCHES = ["attention", "mlp"], WAYS = ["token mean", "zero"];

function need(ok, words) {
  if (!ok) throw new RangeError(words);
}

function within(what, value, end) {
  const is = Number.isInteger(value) && value >= 0 && value < end;
  need(is, `${what} ${value} does not exist: they are 0 to ${end - 1}`);
}

function oneOf(what, value, list) {
  need(list.includes(value), `${what} "${value}" does not exist: choose ${list.join(" or ")}`);
}

const HOW = {
  head({ layer, head, by = "token mean" }, of, { heads }) {
    within("head", head, heads);
    oneOf("the way", by, WAYS);
    of(layer, "heads", () => new Float32Array(heads).fill(1))[head] = 0;
    of(layer, "means", () => new Float32Array(heads))[head] = by === "token mean" ? 1 : 0;
  },

  hide({ patches, layers }, of, { layers: all, tokens, prefix }) {
    for (const layer of layers ?? Array(all).keys())
      for (const patch of patches) {
        within("patch", patch, tokens - prefix);
        of(layer, "mask", () => new Float32Array(tokens))[prefix + patch] = -Infinity;
      }
  },

  branch({ layer, branch }, of) {
    oneOf("the branch", branch, BRANCHES);
    of(layer, branch, () => new Float32Array(1))[0] = 0;
  },

  tokens({ layer, tokens: replaced, values }, of, { tokens, width }) {
    const right = values instanceof Float32Array && values.length === replaced.length * width;
    const count = replaced.length;
    need(right, `the values of ${count} tokens are ${count} times ${width} single-precision numbers`);
    for (const token of replaced) within("token", token, tokens);
    const rows = of(layer, "rows", () => new Map());
    replaced.forEach((token, i) => rows.set(token, values.subarray(i * width, (i + 1) * width)));
  },
};

// -> {first, layers}: the first layer that changes, and for each layer the inputs of its block that differ from the
// defaults, of {heads, means, mask, attention, mlp}, and rows, a Map from token to its replacement. Throws a RangeError
// for an intervention that does not exist.
// shape: {layers, heads, tokens, prefix, width} of the computed picture.
export function plan(interventions, shape) {
  const layers = Array.from({ length: shape.layers }, () => ({}));
  const of = (layer, name, usual) => {
    within("layer", layer, shape.layers);
    return (layers[layer][name] ??= usual());
  };
  for (const one of interventions) {
    oneOf("the intervention", one.kind, Object.keys(HOW));
    HOW[one.kind](one, of, shape);
  }
  const first = layers.findIndex((given) => Object.keys(given).length);
  return { first: first < 0 ? shape.layers : first, layers };
}

// -> for each layer the numbers of the patches that a plan hides.
export function hidden({ layers }, prefix) {
  const patches = (mask) => Array.from(mask, (value, i) => (value ? i - prefix : -1)).filter((i) => i >= 0);
  return layers.map(({ mask }) => patches(mask ?? []));
}

// Two lists of L + 1 arrays (T, D) -> their cosines, token by token, (L + 1, T); 1 where an array is the same.
export function cosines(before, now, width) {
  const tokens = now[0].length / width, found = new Float32Array(now.length * tokens).fill(1);
  now.forEach((array, layer) => {
    const old = before[layer];
    if (array === old) return;
    for (let token = 0; token < tokens; token++) {
      let both = 0, one = 0, other = 0;
      for (let i = token * width; i < (token + 1) * width; i++) {
        both += array[i] * old[i];
        one += array[i] * array[i];
        other += old[i] * old[i];
      }
      found[layer * tokens + token] = both / Math.sqrt(one * other || 1);
    }
  });
  return found;
}
