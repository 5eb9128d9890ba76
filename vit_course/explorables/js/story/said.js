// The line below the picture: what each scene shows, with its numbers.

import { HEADS, LAYERS, PATCHES, SIDE } from "./values.js";

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "last"];
const percent = (share) => (share === share ? `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%` : "...");
const where = (i) => `row ${Math.floor(i / SIDE) + 1}, column ${(i % SIDE) + 1}`;
const nameOf = (map) => `head ${(map % HEADS) + 1} of the ${ORDINALS[Math.floor(map / HEADS)]} layer`;
const two = (value) => value.toFixed(2).replace("-", "\u2212");
const sum = (weights, squares) => squares.reduce((total, i) => total + weights[i + 1], 0);

function asked({ values, asked: i }) {
  const weights = values.row(i), squares = weights.subarray(1);
  const own = i === values.query && values.parts;
  if (own) {
    values.usual ??= Array.from({ length: PATCHES }, (_, one) => sum(values.row(one), own.other)).reduce((total, share) => total + share / PATCHES, 0);
    return `The framed square gives its own eye ${percent(sum(weights, own.own))} of its attention, and the other eye ${percent(sum(weights, own.other))}; the average square gives that one ${percent(values.usual)}. (This is ${nameOf(values.map.layer * HEADS + values.map.head)}.)`;
  }
  const most = squares.reduce((best, weight, at) => (weight > squares[best] ? at : best), 0);
  const at = most === i ? "itself" : where(most);
  return `The square in ${where(i)} looks most at ${at}: ${percent(squares[most])}, where an even share would be ${percent(1 / 257)}.`;
}

function taken({ values: { changed }, map, removed }) {
  if (removed === null) return `Framed: ${nameOf(map)}. Click a small map, or press Enter, to switch that head off.`;
  const moves = changed[removed];
  if (!(moves === moves)) return `Computing the model without ${nameOf(removed)} ...`;
  const larger = changed.filter((one) => one > moves).length, all = changed.every((one) => one === one);
  const rank = !all ? "" : larger ? `; ${larger} of the 72 ${larger === 1 ? "moves" : "move"} it more` : "; no other moves it more";
  return `Without ${nameOf(removed)}, the summary moves by ${moves.toFixed(3)}${rank}.`;
}

function alike({ values: { alike, query, partner, apart, parts }, layer }) {
  const at = alike[layer * PATCHES + partner], both = parts ? "the two eyes" : `the framed squares (${where(query)} and ${where(partner)})`;
  return `${layer ? `After layer ${layer} of ${LAYERS}` : "Before the first layer"}, ${both} are alike by ${two(at)}, the rest by ${two(apart[layer])} on average. (1: the same; 0: no more than any two squares.)`;
}

function read({ values: { others, words, none } }) {
  const found = others.map(({ title, alike }) => `${title} ${two(alike)}`).join(", ");
  return `The most similar square of each photograph: ${found}. The word: ${words[0][0]}, ${percent(words[0][1])}. ${none}`;
}

const SAID = [
  () => "",
  () => "16 × 16 = 256 squares.",
  ({ values: { query } }) => `The framed square is number ${query + 1} of 256.`,
  () => "14 × 14 dots × 3 colours = 588 numbers go in, 384 come out, for every square in the same way.",
  ({ values: { shuffled, words }, shuffle }) => {
    const [word, now] = [words[0][0], shuffle || 1], [p, n] = [shuffled.places, shuffled.none];
    return `Sure of “${word}” with places: ${percent(p[0])} in order, ${percent(p[now])} shuffled. Without: ${percent(n[0])} and ${percent(n[now])}.`;
  },
  asked,
  ({ map }) => `Large: ${nameOf(map)}. Each small map is one head's answer for the framed square.`,
  alike, read, taken,
  () => "",
];

// -> a sentence or two for this scene, or why there is nothing yet.
export function said(scene, story) {
  if (story.values.waits && scene > 2) return story.values.waits;
  return SAID[scene](story);
}
