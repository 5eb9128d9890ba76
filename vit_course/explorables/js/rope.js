// A query and a key in a row of patches: their positions rotate their pairs of numbers, so that only the distance
// counts.

import TABLE from "./rope.json" with { type: "json" };
import { explorable, handle, html, svg } from "./play.js";

const PAIRS = [0, 1, 2, 3];
const PLACES = Array.from({ length: 16 }, (_, place) => place);
const RATES = PAIRS.map((pair) => 100 ** (-pair / 4)); // radians a place
const AWAY = 3; // the second goal: how many places to its left the query must look
const [CELL, EDGE, ROW] = [23.5, 20, 36]; // of the row: the side of a patch, where the first begins, and its top
const [ZERO, UNIT] = [204, 18]; // of the curve: where a score of 0 is, and one unit
const [MIDDLE, LONG] = [50, 38]; // of a clock: its centre, and its hands
const across = (place) => EDGE + CELL * (place + 0.5);
const up = (score) => ZERO - UNIT * score;
const within = (place) => Math.max(0, Math.min(15, Math.round(place)));
const degrees = (radians) => Math.round((radians * 180) / Math.PI);
const plain = (value) => value.toFixed(2).replace("-0.00", "0.00").replace("-", "\u2212");
const signed = (value) => plain(value).replace(/^(?=\d)/, "+");

export function compute({ query, key, hands }) {
  // -> query and key, rotated, (4, 2) each; parts (4), the contribution of each pair to the score; scores (16), with
  // the key at every place. Before the rotation each pair of the key is (1, 0).
  const turned = (angle) => [Math.cos(angle), Math.sin(angle)];
  const q = hands.map((hand, pair) => (hand * Math.PI) / 180 + RATES[pair] * query);
  const partsAt = (place) => q.map((angle, pair) => Math.cos(angle - RATES[pair] * place));
  const sum = (parts) => parts.reduce((a, b) => a + b, 0);
  const scores = PLACES.map((place) => sum(partsAt(place)));
  return { query: q.map(turned), key: RATES.map((rate) => turned(rate * key)), parts: partsAt(key), score: scores[key], scores };
}

const usual = (name) => TABLE[name].usual;
const FIRST = compute({ query: usual("query"), key: usual("key"), hands: usual("hands") }).score;

function both(state, to) {
  // Moves both so that the query comes to a place, within the row.
  const apart = state.key - state.query;
  const query = Math.max(0, -apart, Math.min(15, 15 - apart, Math.round(to)));
  return { query, key: query + apart };
}

function row(play, { score, scores }) {
  const { query, key } = play.state;
  const marker = (name, place, y, colour) => handle({
    label: `place of the ${name}`, text: `place ${place}, score ${plain(score)}`, now: place, least: 0, most: 15, at: { x: across(place), y },
    move: play.moving(({ x }) => ({ [name]: within((x - EDGE) / CELL - 0.5) })), step: (right, below) => play.set({ [name]: within(play.state[name] + right - below) }),
  }, svg`<circle cx=${across(place)} cy=${y} r="16" fill="transparent" /><circle class="play-grip" cx=${across(place)} cy=${y} r="11" fill=${colour} />
    <text class="rope-name" x=${across(place)} y=${y + 4.5} text-anchor="middle">${name[0]}</text>`);
  const [left, right, middle] = [Math.min(query, key), Math.max(query, key), (query + key) / 2].map(across);
  const label = Math.max(EDGE + 43, Math.min(across(15.5) - 43, middle)); // within the row
  const bar = handle({
    label: "both places", text: `query ${query}, key ${key}, score ${plain(score)}`, now: query, least: 0, most: 15, at: { x: middle, y: 108 },
    move: play.moving(({ x }) => both(play.state, (x - EDGE) / CELL - 0.5 - (key - query) / 2)), step: (aside, below) => play.set(both(play.state, play.state.query + aside - below)),
  }, svg`<rect x=${Math.min(left, label - 43)} y="95" width=${Math.max(right - left, 86)} height="26" fill="transparent" />
    <path class="rope-span" d="M ${left} 96 v 24 m 0 -12 H ${right} m 0 -12 v 24" />
    <rect class="play-grip rope-both" x=${label - 43} y="98" width="86" height="20" rx="6" />
    <text x=${label} y="112.5" text-anchor="middle">${query === key ? "same place" : `${Math.abs(key - query)} apart`}</text>`);
  // The score is written beside its point, or below it if the point is near the top, where the bar is.
  const [away, anchor] = score > 3 && key > 0 ? [0, "middle"] : key > 12 ? [-11, "end"] : [11, "start"];
  const grid = [-4, 0, 4].map((at) => svg`<path d="M ${EDGE} ${up(at)} H ${across(15.5)}" stroke="var(--vit-line)" />
    <text class="play-soft" x=${EDGE - 4} y=${up(at) + 4} text-anchor="end">${plain(at).slice(0, -3)}</text>`);
  return html`<svg class="rope-row" viewBox="0 0 400 298" role="group" aria-label="A row of 16 patches, and the score of the query with the key at each">
    ${grid}<text class="play-soft" x=${across(7.5)} y=${up(-4) + 18} text-anchor="middle">score of the query with the key at each place</text>
    <path d="M ${across(query)} 24 V ${up(-4)}" stroke="var(--vit-ink)" /><path class="rope-to" d="M ${across(key)} 84 V ${up(score)}" />
    ${PLACES.map((place) => svg`<rect class="rope-patch" x=${EDGE + CELL * place + 1} y=${ROW} width=${CELL - 2} height=${CELL - 2} rx="3" />
      <text class="play-soft" x=${across(place)} y=${ROW + 15} text-anchor="middle">${place}</text>`)}
    <path class="rope-curve" d="M ${scores.map((one, place) => `${across(place)} ${up(one)}`).join(" L ")}" />
    ${scores.map((one, place) => svg`<circle cx=${across(place)} cy=${up(one)} r="3" fill="var(--vit-ink)" />`)}
    <circle class="rope-found" cx=${across(key)} cy=${up(score)} r="6.5" />
    <text class="rope-score" x=${across(key) + away} y=${up(score) + (score > 3 ? 25 : score < 0 ? 18 : -8)} text-anchor=${anchor}>${plain(score)}</text>
    ${bar}${marker("query", query, 18, "var(--vit-ink)")}${marker("key", key, 76, "var(--play-1)")}</svg>`;
}

function clock(play, { query, key, parts }, pair) {
  // As on a clock, (1, 0) points up, and positive angles turn clockwise.
  const tip = ([a, b]) => ({ x: MIDDLE + LONG * b, y: MIDDLE - LONG * a });
  const [q, k] = [tip(query[pair]), tip(key[pair])];
  const set = (hand) => ({ hands: play.state.hands.map((one, p) => (p === pair ? Math.round(hand - 360 * Math.round(hand / 360)) : one)) });
  const wedge = query[pair][0] * key[pair][1] - query[pair][1] * key[pair][0] > 0 ? 1 : 0; // clockwise from query to key?
  return html`<div class="rope-clock"><svg viewBox="0 0 100 100" role="group" aria-label="Pair ${pair}">
      <circle class="rope-face" cx="50" cy="50" r="46" /><path class="rope-wedge" d="M 50 50 L ${q.x} ${q.y} A ${LONG} ${LONG} 0 0 ${wedge} ${k.x} ${k.y} Z" />
      <path class="rope-key" d="M 50 50 L ${k.x} ${k.y}" />
      ${handle({
        label: `the query's pair ${pair}`, text: `${play.state.hands[pair]}\u00b0 before it is turned, adds ${signed(parts[pair])}`,
        now: play.state.hands[pair], least: -180, most: 180, at: q,
        move: play.moving(({ x, y }) => set(((Math.atan2(x - MIDDLE, MIDDLE - y) - RATES[pair] * play.state.query) * 180) / Math.PI)),
        step: (right, below) => play.set(set(play.state.hands[pair] + right - below)),
      }, svg`<path class="rope-hand" d="M 50 50 L ${q.x} ${q.y}" /><circle cx=${q.x} cy=${q.y} r="15" fill="transparent" />
        <circle class="play-grip" cx=${q.x} cy=${q.y} r="7" fill="var(--vit-ink)" />`)}<circle class="rope-tip" cx=${k.x} cy=${k.y} r="4" /></svg>
    <b>${signed(parts[pair])}</b><span>${degrees(RATES[pair])}\u00b0 a patch</span></div>`;
}

function view(_state, answer, _things, play) {
  const sum = answer.parts.map(signed).join(" ").replace(/^\+/, "").replace(/ ([+\u2212])/g, " $1 ");
  return html`<div class="play-body rope-body">${row(play, answer)}<div><div class="rope-clocks">${PAIRS.map((pair) => clock(play, answer, pair))}</div>
    <p class="rope-sum">Each pair adds the cosine of the angle between its hands: ${sum} = <b>${plain(answer.score)}</b></p></div></div>`;
}

const best = (scores) => scores.indexOf(Math.max(...scores));
const where = (query, key) => (query === key ? "where the query is" : `${Math.abs(key - query)} to the ${key < query ? "left" : "right"} of the query`);

function words({ query, key }, { score, scores }) {
  const most = best(scores) === key ? "With the key elsewhere it is lower." : `It would be highest with the key ${where(query, best(scores))}.`;
  return `The query at place ${query} and the key at place ${key} have a score of ${plain(score)}, as at any two places with the key ${where(query, key)}. ${most}`;
}

export default explorable("rope", TABLE, {
  title: "Turned by their places",
  hint: "Drag the query q or the key k along the row, or the bar between them to move both. Drag a hand of the query to change what it asks for.",
  goals: [
    {
      text: `Move both and keep the score: neither where it was at the start, and still ${plain(FIRST)}.`,
      reached: ({ query, key }, { score }) => query !== usual("query") && key !== usual("key") && Math.abs(score - FIRST) < 1e-6,
    },
    {
      text: `Turn the query's hands so that its score is highest with the key ${AWAY} to its left, and at least 3.9 of 4.`,
      reached: ({ query }, { scores }) => scores[query - AWAY] >= 3.9 && best(scores) === query - AWAY,
    },
  ],
  compute, view, words,
});
