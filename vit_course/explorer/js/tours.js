// The steps of the guided tour. Each asks the visitor to find something, and checks it by the panel's own numbers.
//
// A step has `needs(panel)`, which returns a sentence if the data lack something, else ""; `check(now)`, a sentence on
// what was found, or ""; and `solve(now)`, a generator that pauses at each `yield` and returns a state that passes, or
// null if there is none. now: {panel, layer, head, fusion, query, key, pinned, direction, view, scale}.

import { SECOND } from "./tour_pairs.js";
import { classToken, holding, largestPatch, looksAbove, mostSeen, patches, ready, shownMap } from "./tour_facts.js";
import { ofEven, share } from "./ranks.js";

const ONE_HEAD = { view: "attention", fusion: "head", direction: "from" };
const layerName = (panel, layer) => `layer ${panel.layer_numbers[layer]}`;
const shows = (now, wanted) => Object.entries(wanted).every(([name, value]) => now[name] === value);

export function* layersFrom(panel, first) {
  // Yields all layers, beginning with `first`, and undefined while the next one is still being decoded.
  for (const layer of [first, ...Array.from({ length: panel.layers }, (_, l) => l).filter((l) => l !== first)]) {
    while (!ready(panel, layer)) yield;
    yield layer;
  }
}

function halves(panel, layer, query) {
  return Array.from({ length: panel.heads }, (_, head) => holding(panel.row(layer, head, query), panel));
}

const fewest = {
  title: "Ask from the class token",
  question: ({ panel }) => `The class token collects what the model has to say about the whole picture. Which head of ${layerName(panel, panel.layers - 1)} lets it look at the fewest patches?`,
  hint: "Choose the class token below the picture, then the last layer, and go through the heads. The overlay “outline” frames the patches that hold half of the weight.",
  needs: (panel) => (classToken(panel) < 0 ? "This model has no class token." : panel.heads < 2 ? "This model has only one head." : ""),
  check(now) {
    const { panel, layer, head, query } = now;
    if (!shows(now, ONE_HEAD) || query !== classToken(panel) || layer !== panel.layers - 1) return "";
    const counts = halves(panel, layer, query);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    if (counts[head] > least || least === most) return "";
    return `Half of what head ${head} gives to patches lies on ${least} of ${patches(panel)} patches. Head ${counts.indexOf(most)} spreads that half over ${most}.`;
  },
  *solve({ panel }) {
    const [layer, query] = [panel.layers - 1, classToken(panel)];
    while (!ready(panel, layer)) yield;
    const counts = halves(panel, layer, query);
    const head = counts.indexOf(Math.min(...counts));
    return Math.max(...counts) > counts[head] ? { ...ONE_HEAD, layer, head, query } : null;
  },
};

const above = {
  title: "A head that knows its way",
  question: () => "Somewhere among the early layers a head always looks one patch up. Find it.",
  hint: "Move over the picture and watch the small maps: in the map you are looking for, the bright spot stays just above the pointer.",
  needs: (panel) => (panel.rows < 2 ? "The picture has only one row of patches." : ""),
  check(now) {
    const { panel, layer, head } = now;
    if (!shows(now, ONE_HEAD)) return "";
    const { hits, of } = looksAbove(panel, layer, head);
    if (2 * hits < of) return "";
    return `In ${layerName(panel, layer)}, head ${head}, ${hits} of ${of} patches ${hits === 1 ? "looks" : "look"} most at the patch right above them. By chance it would be about ${Math.max(1, Math.round(of / patches(panel)))}.`;
  },
  *solve({ panel, query }) {
    for (const layer of layersFrom(panel, 0)) {
      for (let head = 0; layer !== undefined && head < panel.heads; head++) {
        const { hits, of } = looksAbove(panel, layer, head);
        const middle = panel.prefix + Math.floor(panel.rows / 2) * panel.columns + Math.floor(panel.columns / 2);
        if (2 * hits >= of) return { ...ONE_HEAD, layer, head, query: query < panel.prefix ? middle : query };
        yield;
      }
      yield;
    }
    return null;
  },
};

const seen = {
  title: "Turn the question round",
  question: () => "The question is no longer where this patch looks, but who looks at it. Find a patch that gets at least three times an even share from all tokens together.",
  hint: "Choose “who looks here” and move over things that stand out: an eye, a corner, a bright spot. Click to pin the patch. Other heads and layers have other favourites.",
  needs: () => "",
  check(now) {
    const { panel, query, pinned } = now;
    if (!pinned || query < panel.prefix || now.fusion === "rollout" || !shows(now, { view: "attention", direction: "to" })) return "";
    const column = shownMap(panel, now, query, "to");
    const sum = column.reduce((a, b) => a + b, 0);
    if (sum < 3) return "";
    const many = column.filter((weight) => weight * panel.tokens >= 2).length;
    return `All tokens together give this patch ${ofEven(sum)}; ${many || "none"} of ${panel.tokens} ${many > 1 ? "give" : "gives"} it at least twice an even share.`;
  },
  *solve({ panel, layer: from, head: first }) {
    for (const layer of layersFrom(panel, from)) {
      for (let i = 0; layer !== undefined && i < panel.heads; i++) {
        const head = (first + i) % panel.heads;
        const { token, sum } = yield* mostSeen(panel, layer, head);
        if (sum >= 3.01) return { view: "attention", fusion: "head", direction: "to", layer, head, query: token, pinned: true, key: -1 };
      }
      yield;
    }
    return null;
  },
};

const scales = {
  title: "Change the scale",
  question: () => "On its own scale every map looks bright. Draw the whole layer on one scale: which of its heads really has the largest weight for your query?",
  hint: "Change the scale from “own” to “layer”, then go through the heads of the layer.",
  needs: (panel) => (panel.heads < 2 ? "This model has only one head." : ""),
  check(now) {
    const { panel, layer, head, query } = now;
    if (!shows(now, ONE_HEAD) || now.scale === "own") return "";
    const tops = peaks(panel, layer, query);
    const [least, most] = [Math.min(...tops), Math.max(...tops)];
    if (tops[head] < most || least === most) return "";
    return `The largest weight of head ${head} on a patch is ${share(most)}, that of head ${tops.indexOf(least)} only ${share(least)}. On their own scales both are drawn at full strength.`;
  },
  *solve({ panel, layer, query }) {
    while (!ready(panel, layer)) yield;
    const tops = peaks(panel, layer, query);
    const [least, most] = [Math.min(...tops), Math.max(...tops)];
    return least < most ? { ...ONE_HEAD, layer, head: tops.indexOf(most), scale: "layer" } : null;
  },
};

function peaks(panel, layer, query) {
  return Array.from({ length: panel.heads }, (_, head) => {
    const row = panel.row(layer, head, query);
    return row[largestPatch(row, panel)];
  });
}

const [late, alike, coloured, softened] = SECOND;
export const TOURS = { look: { title: "Eight things to find", steps: [fewest, late, above, seen, scales, alike, coloured, softened] } };
