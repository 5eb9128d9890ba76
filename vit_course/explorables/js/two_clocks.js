// Two places on the grid of patches: how similar their position vectors are, learned or of sines and cosines (clocks).

import TABLE from "./two_clocks.json" with { type: "json" };
import { explorable, handle, html, nothing, strip, svg } from "./play.js";

const [KEPT, MADE] = [48, [37, 37]]; // of the learned table: its width, and the grid that it was made for
const [WIDTH, AXIS] = [384, 96]; // of the sin-cos table: its width, and the number of clocks for one axis
const DIALS = [0, 1, 2, 3, 4, 5, 6, 7, 24]; // the hands that are drawn, of each axis
const ALIKE = 20; // degrees: hands at most so far apart count as alike
const CELL = 20;
const range = (count) => Array.from({ length: count }, (_, i) => i);
const two = (value) => value.toFixed(2).replace("-", "\u2212");
const degrees = (radians) => `${Math.round((radians * 180) / Math.PI)}\u00b0`;

// The choices of clocks to compare, of all 192: first those of the column, then those of the row.
const CLOCKS = { "hand 0": [0, AXIS], "hand 24": [24, AXIS + 24], "first eight": range(8), all: range(2 * AXIS) };
// The columns of the sin-cos table for such clocks. Its order: sines and cosines of the column, then of the row.
const sine = (clock) => clock + (clock < AXIS ? 0 : AXIS);
const NUMBERS = Object.fromEntries(Object.entries(CLOCKS).map(([name, clocks]) => [name, clocks.flatMap((clock) => [sine(clock), sine(clock) + AXIS])]));
// The range of the colour scale of each map.
const SHOWN = { learned: [-0.6, 1], "hand 0": [-1, 1], "hand 24": [0, 1], "first eight": [-1, 1], all: [0.5, 1] };

function cubic(size, wanted) {
  // -> for each new place, four old ones and their weights, as of "bicubic" in torch, along one axis.
  const a = -0.75;
  const near = (t) => (a + 2) * t ** 3 - (a + 3) * t ** 2 + 1;
  const far = (t) => a * t ** 3 - 5 * a * t ** 2 + 8 * a * t - 4 * a;
  return range(wanted).map((to) => {
    const from = ((to + 0.5) * size) / wanted - 0.5;
    const t = from - Math.floor(from);
    return [far(t + 1), near(t), near(1 - t), far(2 - t)].map((weight, i) => [Math.max(0, Math.min(size - 1, Math.floor(from) - 1 + i)), weight]);
  });
}

function linear(size, wanted) {
  return range(wanted).map((to) => {
    const from = Math.max(0, ((to + 0.5) * size) / wanted - 0.5);
    const [low, t] = [Math.floor(from), from - Math.floor(from)];
    return [[low, 1 - t], [Math.min(low + 1, size - 1), t]];
  });
}

function resized(values, before, after, taps) {
  // (before, size, after) -> (before, taps.length, after): weighted means along the middle axis.
  const out = new Float64Array(before * taps.length * after);
  const size = values.length / before / after;
  for (let b = 0; b < before; b++)
    taps.forEach((tap, to) => {
      for (const [from, weight] of tap) for (let c = 0; c < after; c++) out[(b * taps.length + to) * after + c] += weight * values[(b * size + from) * after + c];
    });
  return out;
}

function interpolate(rows, [high, wide], [newHigh, newWide], width) {
  // Resizes a position table bicubically, without the class token's row.
  const across = resized(rows.subarray(width), high, width, cubic(wide, newWide));
  return resized(across, 1, newWide * width, cubic(high, newHigh));
}

function sincos(side) {
  // (T, D): a row of zeros for the class token, then side x side places.
  const frequencies = range(AXIS).map((hand) => 10000 ** (-hand / (AXIS - 1)));
  const out = new Float64Array((1 + side * side) * WIDTH);
  for (let n = 0; n < side * side; n++)
    [n % side, Math.floor(n / side)].forEach((at, axis) =>
      frequencies.forEach((frequency, hand) => {
        const to = (1 + n) * WIDTH + 2 * AXIS * axis + hand;
        [out[to], out[to + AXIS]] = [Math.sin(frequency * at), Math.cos(frequency * at)];
      }),
    );
  return out;
}

function open({ table, steps }) {
  const whole = { learned: [Float64Array.from(table, (byte, i) => (byte - 128) * steps[i % KEPT]), MADE, KEPT], sincos: [sincos(16), [16, 16], WIDTH] };
  return { whole, made: {} };
}

export function tables({ whole, made }, name) {
  // -> the grid, and both tables for it, cached.
  const grid = name === "16 x 16" ? [16, 16] : [16, 24];
  const make = ([rows, from, width]) => {
    if (name === "as one line") return resized(rows, 1, width, linear(rows.length / width, 385)).subarray(width);
    return interpolate(rows, from, name === "exchanged" ? [24, 16] : grid, width);
  };
  made[name] ??= { grid, learned: make(whole.learned), sincos: make(whole.sincos) };
  return made[name];
}

function similarities(values, width, numbers, place) {
  // -> (N,): the cosine similarity of each place's vector with that of one place, over these columns only.
  const dot = (a, b) => {
    let sum = 0;
    for (const i of numbers) sum += values[a * width + i] * values[b * width + i];
    return sum;
  };
  const own = Math.sqrt(dot(place, place));
  return range(values.length / width).map((n) => dot(n, place) / own / Math.sqrt(dot(n, n)));
}

export function compute({ place, other, hands, table }, things) {
  const { grid, learned, sincos } = tables(things, table);
  const within = (at) => at.map((one, axis) => Math.min(one, grid[axis] - 1));
  const [here, there] = [within(place), within(other)];
  const [a, b] = [here, there].map(([row, column]) => row * grid[1] + column);
  const hand = (n, clock) => [sincos[n * WIDTH + sine(clock)], sincos[n * WIDTH + sine(clock) + AXIS]];
  const apart = range(2 * AXIS).map((clock) => {
    const [[s, c], [t, d]] = [hand(a, clock), hand(b, clock)];
    return Math.abs(Math.atan2(s * d - c * t, s * t + c * d));
  });
  return {
    grid, here, there, apart, // in radians, of all 192 clocks
    learned: similarities(learned, KEPT, range(KEPT), a),
    clocks: similarities(sincos, WIDTH, NUMBERS[hands], a),
    largest: Math.max(...CLOCKS[hands].map((clock) => apart[clock])),
    tips: [a, b].map((n) => range(2 * AXIS).map((clock) => hand(n, clock))),
    at: b,
  };
}

function square(play, answer, name, title) {
  // One map, with both places on it.
  const { grid, here, there } = answer;
  const [high, wide] = grid.map((count) => CELL * count);
  const middle = ([row, column]) => ({ x: CELL * (column + 0.5), y: CELL * (row + 0.5) });
  const within = (value, axis) => Math.max(0, Math.min(grid[axis] - 1, value));
  const marker = (part, [row, column], body) => {
    const at = middle([row, column]);
    return handle({
      label: `${part === "place" ? "the place" : "the place compared with it"}, on the map of the ${title}`,
      text: `row ${row}, column ${column}: ${part === "place" ? "here" : `cosine similarity ${two(answer[name][answer.at])}`}`,
      now: row * grid[1] + column, least: 0, most: grid[0] * grid[1] - 1, at,
      move: play.moving(({ x, y }) => ({ [part]: [within(Math.floor(y / CELL), 0), within(Math.floor(x / CELL), 1)] })),
      step: (right, below) => play.set({ [part]: [below, right].map((far, axis) => within(within(play.state[part][axis], axis) + far, axis)) }), // from the state, which may be ahead of the drawing
    }, body(at));
  };
  const jump = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    play.set({ place: [[event.clientY - box.top, box.height, 0], [event.clientX - box.left, box.width, 1]].map(([far, all, axis]) => within(Math.floor((far / all) * grid[axis]), axis)) });
  };
  const ring = middle(there);
  const near = Math.abs(here[0] - there[0]) < 2 && Math.abs(here[1] - there[1]) < 5;
  // The number is written beside the ring: away from the square if that is near or, without room, beyond the square.
  const beside = near ? there[1] >= here[1] : ring.x <= 0.7 * wide;
  const over = near && (beside ? ring.x > wide - 80 : ring.x < 80);
  const [by, right] = over ? [middle(here), !beside] : [ring, beside];
  const edge = here[1] < 2 ? "start" : here[1] > grid[1] - 3 ? "end" : "middle"; // the word must not leave the map
  const up = here[0] > 1 && !(there[0] < here[0] && Math.abs(there[1] - here[1]) < 4);
  return html`<figure><figcaption><b>${title}</b></figcaption><div class="clock-map">
    <canvas data-map=${name} width=${grid[1]} height=${grid[0]} @click=${jump}></canvas>
    <svg viewBox="0 0 ${wide} ${high}" role="group" aria-label="Similarity map of the ${title}">
      <g class="clock-labels"><text x=${middle(here).x + { start: -10, middle: 0, end: 10 }[edge]} y=${middle(here).y + (up ? -17 : 30)} text-anchor=${edge}>here</text>
        <text x=${by.x + (right ? 17 : -17)} y=${by.y + 6} text-anchor=${right ? "start" : "end"}>${two(answer[name][answer.at])}</text></g>
      ${marker("other", there, ({ x, y }) => svg`<circle class="clock-hit" cx=${x} cy=${y} r="24" /><circle class="clock-under" cx=${x} cy=${y} r="11" /><circle class="play-grip clock-over" cx=${x} cy=${y} r="11" />`)}
      ${marker("place", here, ({ x, y }) => svg`<circle class="clock-hit" cx=${x} cy=${y} r="24" /><rect class="clock-under" x=${x - 10} y=${y - 10} width="20" height="20" />
        <rect class="play-grip clock-over" x=${x - 10} y=${y - 10} width="20" height="20" /><circle class="clock-dot" cx=${x} cy=${y} r="4" />`)}
    </svg></div></figure>`;
}

function dial(answer, counted, axis, hand) {
  const clock = AXIS * axis + hand;
  const [[[x, y], [u, v]], apart] = [answer.tips.map((tips) => tips[clock]), answer.apart[clock]];
  const counts = counted.includes(clock);
  const alike = (apart * 180) / Math.PI <= ALIKE;
  const tip = (a, b) => `${25 + 20 * a} ${25 - 20 * b}`;
  const clockwise = u * y - v * x > 0 ? 1 : 0; // whether from the square's hand to the ring's
  return html`<div class="clock-dial" ?data-counts=${counts}><svg viewBox="0 0 50 50" aria-hidden="true"><circle class="clock-face" cx="25" cy="25" r="22" />
      ${counts ? svg`<path class="clock-between" d="M 25 25 L ${tip(x, y)} A 20 20 0 0 ${clockwise} ${tip(u, v)} Z" />` : nothing}
      <path class="clock-there" d="M 25 25 L ${tip(u, v)}" /><path class="clock-here" d="M 25 25 L ${tip(x, y)}" />
      <circle class="clock-ring" cx=${25 + 20 * u} cy=${25 - 20 * v} r="4" /><circle class="clock-tip" cx=${25 + 20 * x} cy=${25 - 20 * y} r="3.5" /></svg>
    <span><span class="clock-word">hand </span>${hand}</span>${counts ? html`<span class="clock-apart">${alike ? html`<b>${degrees(apart)}</b>` : degrees(apart)}</span>` : nothing}</div>`;
}

function dials(state, answer, axis) {
  const counted = CLOCKS[state.hands];
  return html`<div class="clock-row"><p><b>${["Column clocks", "Row clocks"][axis]}</b> turn when you move ${["left or right", "up or down"][axis]}</p>
    <div class="clock-dials">${DIALS.map((hand) => dial(answer, counted, axis, hand))}</div></div>`;
}

function view(state, answer, _things, play) {
  const ways = { "16 x 16": "no", interpolated: "as a picture", exchanged: "axes swapped", "as one line": "as one line" };
  const used = { "hand 0": "hand 0", "hand 24": "hand 24", "first eight": "first eight", all: "all" };
  return html`<div class="play-row">
      <span class="clock-choice">clocks in use ${strip(`${play.id}-hands`, "Clocks in use", used, state.hands, (hands) => play.set({ hands }))}</span>
      <details class="clock-more" ?open=${state.table !== "16 x 16"}><summary>resize both tables to 16 x 24</summary>${strip(`${play.id}-table`, "Resized to 16 x 24", ways, state.table, (table) => play.set({ table }))}</details>
    </div>
    <div class="play-body clock-body"><div class="clock-maps ${answer.grid[1] > 16 ? "clock-wide" : ""}">${square(play, answer, "learned", "learned by a real ViT")}
        ${square(play, answer, "clocks", state.hands === "all" ? "sin-cos: all clocks" : `sin-cos: ${state.hands}`)}
        <p class="clock-key">Bright means similar to the place at the square. The number at the ring is their cosine similarity.</p></div>
      <div class="clock-both"><p class="clock-key">Each clock turns at its own speed; the sin-cos table holds the sine and cosine of each hand. <b>Solid</b>: the square's hand; <b>dashed</b>: the ring's. Below, the angle between them, bold up to ${ALIKE}\u00b0.</p>
        ${[0, 1].map((axis) => dials(state, answer, axis))}</div></div>`;
}

// The colour map viridis at nine points; its lightness rises evenly.
const COLOURS = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];

function colour(share) {
  const at = 8 * Math.max(0, Math.min(1, share));
  const low = Math.min(7, Math.floor(at));
  return COLOURS[low].map((value, c) => value + (at - low) * (COLOURS[low + 1][c] - value));
}

function paint(root, state, answer) {
  for (const canvas of root.querySelectorAll("[data-map]")) {
    const [least, most] = SHOWN[canvas.dataset.map === "learned" ? "learned" : state.hands];
    const image = new ImageData(canvas.width, canvas.height);
    answer[canvas.dataset.map].forEach((value, n) => image.data.set([...colour((value - least) / (most - least)), 255], 4 * n));
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
}

const ABOUT = {
  "16 x 16": "",
  interpolated: " Both tables were resized to 16 rows of 24 as pictures, so neighbours are still neighbours.",
  exchanged: " Both tables were resized to 24 rows of 16 and then read as 16 rows of 24, so every second row starts in the middle of an old one.",
  "as one line": " Each table was resized as one long line. That breaks up the learned table, which had 37 rows, but hardly changes the sin-cos table: its 16 rows are still 16 rows.",
};

function words({ hands, table }, { here, there, learned, clocks, largest, at }) {
  if (`${here}` === `${there}`) return "The square and the ring are at the same place. Drag one of them away.";
  const place = ([row, column]) => `row ${row}, column ${column}`;
  const said = `The square is at ${place(here)}, the ring at ${place(there)}. Their cosine similarity is ${two(learned[at])} in the learned table and ${two(clocks[at])} in the sin-cos table${hands === "all" ? "" : ", with the clocks in use"}.`;
  const found = (largest * 180) / Math.PI <= ALIKE;
  const which = { "hand 0": "The two clocks of hand 0", "hand 24": "The two clocks of hand 24", "first eight": "The first eight clocks", all: "All 192 clocks together" }[hands];
  const why = hands === "first eight" && here[1] === there[1] && table !== "exchanged" ? " All eight are column clocks, and the column is the same." : "";
  const by = `the largest angle is ${degrees(largest)}`;
  return `${said} ${which} ${found ? `cannot tell the two places apart: ${by}.${why}` : `tell the two places apart: ${by}.`}${ABOUT[table]}`;
}

const different = ({ here, there }) => here[0] !== there[0] && here[1] !== there[1];
const close = ({ largest }) => (largest * 180) / Math.PI <= ALIKE;

export default explorable("two_clocks", TABLE, {
  title: "The two clocks",
  hint: "Each place in the grid has a vector that says where it is. Drag the square and the ring: which places have similar vectors, and which clocks tell them apart?",
  goals: [
    { text: `Choose hand 0. Find two places, in different rows and columns, that it confuses (angles up to ${ALIKE}\u00b0).`, reached: ({ hands }, answer) => hands === "hand 0" && different(answer) && close(answer) },
    { text: `Choose first eight. Find two different places that these clocks confuse (angles up to ${ALIKE}\u00b0).`, reached: ({ hands }, answer) => hands === "first eight" && `${answer.here}` !== `${answer.there}` && close(answer) },
  ],
  open, compute, view, words, paint,
});
