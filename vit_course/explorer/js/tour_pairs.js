// The steps of the tour that ask for a pair: a pinned query, and a patch that it is compared with (see tours.js).

import { colours as coloursOf, paintColours } from "./colours.js";
import { cosines } from "./similarity.js";
import { apart, classToken, closest, meanRow, patches, ready, shownMap, spread } from "./tour_facts.js";
import { ofEven, share, signed, times } from "./ranks.js";

// Multiples of an even share: what a patch that is looked at gets at least, and one that is not at most.
const [LOOKED, NOT] = [2, 0.5];
const NO_TOKENS = "This explorer was made without the tokens of the model.";

function pair({ panel, query, key, pinned }, patch = true) {
  // Whether a query is pinned and compared with another token, a patch.
  return pinned && key >= panel.prefix && key !== query && (!patch || query >= panel.prefix);
}

const late = {
  title: "First layer, last layer",
  question: ({ panel }) => `Pin the class token. Find a patch that layer ${panel.layer_numbers.at(-1)} looks at on average over its heads, but layer ${panel.layer_numbers[0]} does not. Click it.`,
  hint: "Choose “mean” and go back and forth between the last layer and the first. You are looking for what lights up only in the last one; there it should get at least twice an even share, and in the first one at most half.",
  needs: (panel) => (panel.layers < 2 ? "There is only one layer." : ""),
  check(now) {
    const { panel, query, key } = now;
    if (!pair(now, false)) return "";
    const [first, last] = [0, panel.layers - 1].map((layer) => meanRow(panel, layer, query)[key] * panel.tokens);
    if (!(last >= LOOKED && first <= NOT)) return "";
    return `On average over its heads, layer ${panel.layer_numbers.at(-1)} gives this patch ${times(last)} times an even share; layer ${panel.layer_numbers[0]} gives it ${ofEven(first)}.`;
  },
  *solve({ panel }) {
    while (!ready(panel, 0) || !ready(panel, panel.layers - 1)) yield;
    for (const query of [Math.max(classToken(panel), 0), ...spread(panel, 32)]) {
      const [first, last] = [0, panel.layers - 1].map((layer) => meanRow(panel, layer, query));
      let best = -1;
      for (let t = panel.prefix; t < panel.tokens; t++)
        if (t !== query && last[t] * panel.tokens >= LOOKED && first[t] * panel.tokens <= NOT && !(best >= 0 && last[t] <= last[best])) best = t;
      if (best >= 0)
        return { view: "attention", fusion: "mean", direction: "from", layer: panel.layers - 1, query, key: best, pinned: true };
      yield;
    }
    return null;
  },
};

const alike = {
  title: "Alike, but not looked at",
  details: true,
  question: () => "Attention does not simply go to what is similar. Pin a patch and click another that is very similar to it but that the chosen head hardly looks at.",
  hint: "Choose the view “similarity” and pin a patch. Bright patches are similar to it. “Why there?” shows how much attention the patch you click gets; other heads give other answers.",
  needs: (panel) => (panel.features || panel.featureWidth ? "" : NO_TOKENS),
  check(now) {
    const { panel, query, key } = now;
    if (!pair(now) || now.view !== "similarity" || now.fusion === "rollout" || !panel.features) return "";
    const values = cosines(panel, query);
    const weight = shownMap(panel, now, query, "from")[key] * panel.tokens;
    if (!(values[key] >= Math.max(closest(values, panel, query), 0.5) && weight <= 0.5)) return "";
    const less = spread(panel, Infinity).filter((t) => t !== query && values[t] < values[key]).length;
    return `The cosine of the two tokens is ${values[key].toFixed(2)}, higher than for ${Math.floor((100 * less) / (patches(panel) - 1))} % of the other patches, and yet it gets ${ofEven(weight)}.`;
  },
  *solve({ panel, layer, head: chosen, query: here }) {
    while (!ready(panel, layer) || !panel.features) yield;
    for (const query of [here, ...spread(panel, 64)].filter((t) => t >= panel.prefix)) {
      const values = cosines(panel, query);
      const least = Math.max(closest(values, panel, query), 0.5);
      for (let i = 0; i < panel.heads; i++) {
        const head = (chosen + i) % panel.heads;
        const row = panel.row(layer, head, query);
        const key = spread(panel, Infinity).find((t) => t !== query && values[t] >= least && row[t] * panel.tokens <= 0.5);
        if (key !== undefined)
          return { view: "similarity", fusion: "head", direction: "from", layer, head, query, key, pinned: true };
      }
      yield;
    }
    return null;
  },
};

export function colourGap(painted, panel, one, other) {
  // The largest difference in red, green or blue between two patches, as a share of the whole range.
  const at = (token, c) => painted[3 * (token - panel.prefix) + c];
  return Math.max(...[0, 1, 2].map((c) => Math.abs(at(one, c) - at(other, c)))) / 255;
}

const paintOf = (now) => (now.panels ? paintColours(now.panels)[0] : coloursOf([now.panel])[0]);
const far = (panel) => Math.max(panel.rows, panel.columns) / 2;

const coloured = {
  title: "What the colours say",
  question: () => "In the view “colours”, similar tokens have similar colours. Find two patches of nearly the same colour that are at least half the picture's side apart.",
  hint: "Pin one patch and click the other. The two sides of a face, or two ends of the background, are good places to try.",
  needs: (panel) => (panel.features || panel.featureWidth ? "" : NO_TOKENS),
  check(now) {
    const { panel, query, key } = now;
    if (!pair(now) || now.view !== "colours" || !panel.features || apart(panel, query, key) < far(panel)) return "";
    const gap = colourGap(paintOf(now), panel, query, key);
    if (gap > 0.1) return "";
    const patchesApart = apart(panel, query, key).toFixed(0);
    return `They lie ${patchesApart} ${patchesApart === "1" ? "patch" : "patches"} apart and differ by at most ${Math.ceil(100 * gap)} % in red, green and blue; the cosine of their tokens is ${cosines(panel, query)[key].toFixed(2)}.`;
  },
  *solve(now) {
    const { panel } = now;
    while (!panel.features) yield;
    const painted = paintOf(now);
    for (const query of spread(panel, 256)) {
      for (const key of spread(panel, Infinity))
        if (apart(panel, query, key) >= far(panel) && colourGap(painted, panel, query, key) <= 0.1)
          return { view: "colours", query, key, pinned: true };
      yield;
    }
    return null;
  },
};

const softened = {
  title: "Why there?",
  details: true, // opens "More", which holds "Why there?"
  question: () => "Find a key whose score is above the average of all keys, but which still gets less than an even share of the attention.",
  hint: "Pin a query in the view “attention” and click one patch after another. “Why there?” shows the score among all scores, and what the softmax makes of it.",
  needs: (panel) => (panel.kind === "qk" ? "" : "Only the weights of this model were recorded, not its queries and keys."),
  check(now) {
    const { panel, layer, head, query, key } = now;
    if (!pair(now, false) || now.fusion !== "head" || now.view !== "attention" || now.direction !== "from" || !ready(panel, layer)) return "";
    const scores = panel.scores(layer, head, query);
    const average = scores.reduce((a, b) => a + b, 0) / panel.tokens;
    const weight = panel.row(layer, head, query)[key];
    if (!(scores[key] > average && weight * panel.tokens < 1)) return "";
    return `Its score ${signed(scores[key])} is above the average ${signed(average)}, yet it gets ${share(weight)}, ${ofEven(weight * panel.tokens)}: the few highest scores take the rest.`;
  },
  *solve(now) {
    const { panel, layer, query } = now;
    while (!ready(panel, layer)) yield;
    for (let head = 0; head < panel.heads; head++) {
      for (const key of spread(panel, Infinity)) {
        const values = { view: "attention", fusion: "head", direction: "from", head, query, key, pinned: true };
        if (key !== query && softened.check({ ...now, ...values })) return values;
      }
      yield;
    }
    return null;
  },
};

export const SECOND = [late, alike, coloured, softened];
