// What is seen, said in one sentence of plain English.

import { strongest } from "./shown.js";

export function percent(weight) {
  // In figures of one width: 5.21 %, 52.13 %.
  return `${(100 * weight).toFixed(2)} %`.padStart(7, "\u2007");
}

export const called = (panel, token) =>
  token < panel.prefix ? `the ${panel.names[token]}` : `the patch in ${panel.name(token)}`;

function where({ panel, layer, head, fusion }) {
  const number = panel.layer_numbers[layer];
  if (fusion === "mean") return `In the mean of all heads of layer ${number}`;
  if (fusion === "rollout") return `Rolled out through all layers up to ${number}`;
  return `In layer ${number}, head ${head}`;
}

function attends({ panel, q, map, direction }) {
  const best = strongest(map, 0);
  const share = percent(map[best]).trim();
  const most = best === q ? "itself" : called(panel, best);
  if (direction === "from") return `${called(panel, q)} looks most at ${most}, with ${share} of its attention`;
  return `${called(panel, q)} is looked at most by ${most}, which gives it ${share} of its attention`;
}

function resembles({ panel, q, drawn, nearest }, index) {
  if (index > 0) return `most like it there is ${called(panel, nearest)} (cosine ${drawn[nearest].toFixed(2)})`;
  const others = drawn.map((value, token) => (token === q ? -2 : value));
  const best = strongest(others, 0);
  return `After the last layer ${called(panel, q)} is most like ${called(panel, best)} (cosine ${drawn[best].toFixed(2)})`;
}

export function describe(shown, view) {
  const titled = (one, text) => (shown.length > 1 && one.panel.title ? `${one.panel.title}: ${text}` : text);
  if (shown[0].colours) return "Colours are the three main directions in which the patches differ: like colour, like description.";
  if (view === "similarity" && shown[0].drawn !== shown[0].map)
    return `${shown.map((one, index) => titled(one, resembles(one, index))).join("; ")}.`;
  if (shown.some((one) => !one.ready)) return "Being computed ...";
  return `${where(shown[0])}, ${shown.map((one) => titled(one, attends(one))).join("; ")}.`;
}
