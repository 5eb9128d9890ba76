// Describes what is shown in sentences of plain English.

import { strongest } from "./shown.js";

export function percent(weight) {
  // Padded to a constant width: 5.21 %, 52.13 %.
  return `${(100 * weight).toFixed(2)}\u00a0%`.padStart(7, "\u2007");
}

export const called = (panel, token) =>
  token < panel.prefix ? `the ${panel.names[token]}` : `the patch in ${panel.name(token)}`;

const SIDES = [
  ["at the upper left", "at the top", "at the upper right"],
  ["on the left", "in the middle", "on the right"],
  ["at the lower left", "at the bottom", "at the lower right"],
];

function side(panel, token) {
  // Where a patch is in the picture, in words.
  const [row, column] = panel.place(token);
  const third = (at, count) => 1 + ((at + 0.5) / count > 0.6) - ((at + 0.5) / count < 0.4);
  return SIDES[third(row, panel.rows)][third(column, panel.columns)];
}

const BRIGHT = {
  spotlight: (several) => `${several ? "Each" : "The"} photograph is bright`,
  heat: (several) => `${several ? "Each" : "The"} photograph is tinted`,
  outline: () => "Lines go around the patches",
};

export function lead([{ panel, q, direction, drawn, map, best, colours, ready, phrase }, ...others], overlay) {
  // What the overlay means, in one sentence for newcomers.
  if (colours || !ready || !BRIGHT[overlay]) return "";
  const query = phrase ? `“${phrase}”` : q < panel.prefix ? `the ${panel.names[q]}` : "the framed patch";
  const what = drawn !== map ? `patches are like ${query}` : direction === "from" ? `${query} looks` : `patches look at ${query}`;
  // Two pictures may have their rings at different places.
  const same = others.every((one) => one.best >= 0 && side(one.panel, one.best) === side(panel, best));
  const place = same ? ` ${side(panel, best)}` : "";
  const most = best < 0 ? "" : `, most of all ${drawn === map && direction === "from" ? "at " : ""}the ringed one${place}`;
  const token = !phrase && panel.names[q] === "class token" ? " The class token stands for the whole picture." : "";
  return `${BRIGHT[overlay](others.length)} where ${what}${most}.${token}`;
}

export function eachMap({ panel, q, direction }, several) {
  // What the small maps of the grid show, in one sentence.
  const query = q < panel.prefix ? `the ${panel.names[q]}` : "the framed patch";
  const what = direction === "from" ? `where one head of one layer looks from ${query}` : `from where one head of one layer looks at ${query}`;
  return `Each small map: ${what}${several && panel.title ? `, in ${panel.title}` : ""}. Click one.`;
}

export function opening(panel) {
  // Why the page opened on this layer and head, or "".
  if (!panel.telling) return "";
  const { layer, head } = panel.telling;
  return `Opened on layer ${layer}, head ${head}, where a patch attends strongly to a few others far from it.`;
}

function where({ panel, layer, head, fusion }) {
  const number = panel.layer_numbers[layer];
  if (fusion === "mean") return `in the mean of the heads of layer ${number}`;
  if (fusion === "rollout") return `rolled out over all layers up to ${number}`;
  return `in layer ${number}, head ${head}`;
}

function attends({ panel, q, map, direction, best }, several) {
  const first = strongest(map, 0);
  const share = (token) => percent(map[token]).trim();
  const most = first === q ? "itself" : called(panel, first);
  const among = q < panel.prefix ? "patches" : "other patches";
  const other = best < 0 || best === first ? "" : `; of the ${among}, ${panel.name(best)} comes first, with ${share(best)}`;
  const of = several ? "" : " of its attention";
  if (direction === "from") return `${called(panel, q)} looks most at ${most}, with ${share(first)}${of}${other}`;
  return `${called(panel, q)} is looked at most by ${most}, which gives it ${share(first)}${of}${other}`;
}

function resembles(shown) {
  if (shown[0].phrase) {
    const each = shown.map(({ panel, drawn, best }) => `${panel.title ? `in ${panel.title}, ` : ""}${called(panel, best)}, with a cosine of ${drawn[best].toFixed(2)}`);
    return `“${shown[0].phrase}” is most like ${each.join("; ")}`;
  }
  // The token most similar to the query in its own picture, and the most similar patch in each other picture.
  const [{ panel, q, drawn }, ...others] = shown;
  const best = strongest(drawn.map((value, token) => (token === q ? -2 : value)), 0);
  const near = others.map((one) =>
    `; in ${one.panel.changed_model ? "the changed model" : one.panel.title || "the other picture"} ${called(one.panel, one.nearest)} comes nearest, with ${one.drawn[one.nearest].toFixed(2)}`);
  const place = others.length && panel.title && !others[0].panel.changed_model ? ` of ${panel.title}` : "";
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
