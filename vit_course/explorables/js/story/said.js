// The line below the picture: what each scene shows, with its numbers.

import { HEADS, LAYERS, PATCHES } from "./values.js";

const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "last"];
const percent = (share) => (share === share ? `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%` : "...");
const nameOf = (map) => `head ${(map % HEADS) + 1} of the ${ORDINALS[Math.floor(map / HEADS)]} layer`;
const two = (value) => value.toFixed(2).replace("-", "\u2212");
const likeness = (cosine) => (cosine > 0.8 ? "nearly the same" : cosine > 0.5 ? "alike" : cosine > 0.25 ? "a little alike" : "not alike");
const changes = (before, after) => (after < before - 0.02 ? "falls" : after > before + 0.02 ? "rises" : "stays the same");
const sum = (weights, squares) => squares.reduce((total, i) => total + weights[i + 1], 0);

function asked({ values, asked: i }) {
  const weights = values.row(i), squares = weights.subarray(1);
  const own = i === values.query && values.parts;
  if (own) return `Of its attention, ${percent(sum(weights, own.own))} stays on its own eye, and ${percent(sum(weights, own.other))} goes to the other one.`;
  const most = squares.reduce((best, weight, at) => (weight > squares[best] ? at : best), 0);
  return `This square looks most at ${most === i ? "itself" : "the brightest one"}: ${percent(squares[most])} of its attention, where an even share would be ${percent(1 / 257)}.`;
}

function taken({ values: { changed }, map, removed }) {
  if (removed === null) return `Framed: ${nameOf(map)}. Click a small map, or press Enter, to switch that head off.`;
  const moves = changed[removed];
  if (!(moves === moves)) return `Computing the model without ${nameOf(removed)} ...`;
  const larger = changed.filter((one) => one > moves).length, all = changed.every((one) => one === one);
  const rank = !all ? "" : larger ? `; ${larger} of the 72 ${larger === 1 ? "moves" : "move"} it more` : "; no other moves it more";
  return `Without ${nameOf(removed)}, the summary moves by ${moves.toFixed(3)} (1 would be a right angle)${rank}.`;
}

function alike({ values: { alike, partner, apart, parts }, layer }) {
  const at = alike[layer * PATCHES + partner], both = parts ? "the two eyes" : "the two framed squares";
  return `${layer ? `After layer ${layer} of ${LAYERS}` : "Before the first layer"}, the lists of ${both} are ${likeness(at)} (${two(at)} of at most 1); the rest, on average: ${likeness(apart[layer])} (${two(apart[layer])}).`;
}

function read({ values: { others, words, none } }) {
  return `Framed in each of the ${others.length} other photographs: its most similar square. Of ten words, the answer is ${words[0][0]}. ${none}`;
}

const SAID = [
  () => "",
  () => "16 × 16 = 256 squares.",
  ({ values: { query } }) => `The framed square is number ${query + 1} of 256.`,
  () => "14 × 14 dots in 3 colours are 588 numbers; 384 come out. Every square is treated in the same way.",
  ({ values: { shuffled, words }, shuffle }) => {
    const [word, now] = [words[0][0], shuffle || 1], [p, n] = [shuffled.places, shuffled.none];
    if (![p[0], p[now], n[0], n[now]].every((share) => share === share)) return "Computing ...";
    return `When the squares are shuffled, the share of “${word}”, one of ten words, ${changes(p[0], p[now])}. Without places it ${changes(n[0], n[now])}.`;
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
