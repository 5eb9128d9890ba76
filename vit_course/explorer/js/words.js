// What is seen, said in one sentence of plain English.

import { strongest } from "./shown.js";

export function percent(weight) {
  // In figures of one width: 5.21 %, 52.13 %.
  return `${(100 * weight).toFixed(2)}\u00a0%`.padStart(7, "\u2007");
}

export const called = (panel, token) =>
  token < panel.prefix ? `the ${panel.names[token]}` : `the patch in ${panel.name(token)}`;

function where({ panel, layer, head, fusion }) {
  const number = panel.layer_numbers[layer];
  if (fusion === "mean") return `in the mean of the heads of layer ${number}`;
  if (fusion === "rollout") return `rolled out over all layers up to ${number}`;
  return `in layer ${number}, head ${head}`;
}

function attends({ panel, q, map, direction }, several) {
  const best = strongest(map, 0);
  const share = percent(map[best]).trim();
  const most = best === q ? "itself" : called(panel, best);
  if (direction === "from")
    return `${called(panel, q)} looks most at ${most}, with ${share}${several ? "" : " of its attention"}`;
  return `${called(panel, q)} is looked at most by ${most}, which gives it ${share}${several ? "" : " of its attention"}`;
}

function resembles(shown) {
  // The token most like the query's in its own picture, and the nearest patch in each other.
  const [{ panel, q, drawn }, ...others] = shown;
  const best = strongest(drawn.map((value, token) => (token === q ? -2 : value)), 0);
  const near = others.map((one) =>
    `; in ${one.panel.title || "the other picture"} ${called(one.panel, one.nearest)} comes nearest, with ${one.drawn[one.nearest].toFixed(2)}`);
  const place = others.length && panel.title ? ` of ${panel.title}` : "";
  return `${called(panel, q)}${place} is most like ${called(panel, best)}, with a cosine of ${drawn[best].toFixed(2)}${near.join("")}`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

export function describe(shown, view, pinned = false) {
  const several = shown.length > 1;
  const titled = (one, text) => (several && one.panel.title ? `${one.panel.title}, ${text}` : text);
  const held = pinned ? "pinned: " : "";
  if (shown[0].colours)
    return "Colours show the three main directions in which the patches differ: patches of similar colour have similar tokens.";
  if (view === "similarity" && shown[0].drawn !== shown[0].map)
    return capital(`${held}after the last layer, ${resembles(shown)}.`);
  const waiting = shown.find((one) => !one.ready);
  if (waiting) return `Computing: ${Math.round(100 * (waiting.panel.rollout?.progress ?? 0))}\u00a0% ...`;
  const all = shown.map((one) => titled(one, attends(one, several))).join("; ");
  return capital(`${held}${where(shown[0])}${several ? ": " : ", "}${all}.`);
}
