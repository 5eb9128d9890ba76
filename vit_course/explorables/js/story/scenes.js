// The scenes of the story, in order. `place(out, story)` gives each square its place in the unit square, and `over` draws
// what belongs to the scene above the squares. `point(story, x, y)` is what a pointer there changes, `move(story, right,
// down)` what an arrow key changes, `press(story, map)` what a click or Enter changes.

import { bars, chart, curve, frame, gridOf, list, text } from "./drawing.js";
import { bright, HEADS, LAYERS, PATCHES, SIDE, TOKENS, WIDTH } from "./values.js";

const PARTS = 6, EDGE = 0.02;
const DARK = 0.86; // of a square to which nothing goes
export const GRID = { x: 0.045, y: 0.055, wide: 0.935, high: 0.46 }; // of the 72 small maps

const WHOLE = { x: EDGE, y: EDGE, size: 1 - 2 * EDGE };
const LARGE = { x: 0.15, y: 0.0, size: 0.7 };
const BELOW = { x: 0.29, y: 0.565, size: 0.43 };
const CORNERS = [[0.095, 0], [0.515, 0], [0.095, 0.42], [0.515, 0.42]].map(([x, y]) => ({ x, y, size: 0.39 }));
const LIST = { x: 0.53, y: 0.28, size: 0.44 };
const ROW = { step: 0.094, wide: 0.084 };

const put = (out, i, ...parts) => out.set(parts, i * PARTS);

// All squares in their places in the picture. fill: the share of a square's cell that it takes; shade(i): its darkness;
// to(i): the place of square i, where it is not its own.
function together(out, { x, y, size }, { fill = 1, shade = () => 0, to = (i) => i } = {}) {
  const cell = size / SIDE, gap = (cell * (1 - fill)) / 2;
  for (let i = 0; i < PATCHES; i++) {
    const at = to(i);
    put(out, i, x + (at % SIDE) * cell + gap, y + Math.floor(at / SIDE) * cell + gap, cell * fill, cell * fill, shade(i), 1);
  }
}

// Weights of all tokens, the summary first -> the darkness of each square.
export function spotlight(weights) {
  const squares = weights.subarray(1), full = bright(squares);
  return (i) => DARK * (1 - Math.min(1, squares[i] / full));
}

export const cellOf = (i, { x, y, size }) => ({ x: x + ((i % SIDE) * size) / SIDE, y: y + (Math.floor(i / SIDE) * size) / SIDE, size: size / SIDE });

function squareAt({ x, y, size }, px, py) {
  const [column, row] = [Math.floor(((px - x) / size) * SIDE), Math.floor(((py - y) / size) * SIDE)];
  return column >= 0 && row >= 0 && column < SIDE && row < SIDE ? row * SIDE + column : null;
}

export function moved(at, right, down, columns, rows) {
  const keep = (value, count) => Math.max(0, Math.min(count - 1, value));
  return keep(Math.floor(at / columns) + down, rows) * columns + keep((at % columns) + right, columns);
}

// The small maps: a column for each layer, a row for each head. Maps are numbered layer by layer.
export const mapAt = (px, py) => {
  const [layer, head] = [Math.floor(((px - GRID.x) / GRID.wide) * LAYERS), Math.floor(((py - GRID.y) / GRID.high) * HEADS)];
  return layer >= 0 && head >= 0 && layer < LAYERS && head < HEADS ? layer * HEADS + head : null;
};
const moveMap = (map, right, down) => {
  const at = moved((map % HEADS) * LAYERS + Math.floor(map / HEADS), right, down, LAYERS, HEADS);
  return (at % LAYERS) * HEADS + Math.floor(at / LAYERS);
};
const chosen = ({ values, map }) => values.maps.subarray(map * TOKENS, (map + 1) * TOKENS);

const whole = { place: (out) => together(out, WHOLE) };

const cut = { place: (out) => together(out, WHOLE, { fill: 0.84 }) };

const along = (query, i, { step, wide } = ROW) => 0.5 + (i - query) * step - wide / 2;
const NEAR = { step: 0.145, wide: 0.133 }; // the row, from nearby

const row = {
  place(out, { values: { query } }) {
    for (let i = 0; i < PATCHES; i++) put(out, i, along(query, i, NEAR), 0.26, NEAR.wide, NEAR.wide, 0, 1);
  },
  over(layer, { values: { query, picture } }) {
    const { stage, pen, size } = layer, number = (i) => along(query, i, NEAR) + NEAR.wide / 2;
    for (let i = Math.max(0, query - 3); i <= Math.min(PATCHES - 1, query + 3); i++)
      text(layer, String(i + 1), number(i), 0.43, { colour: i === query ? stage.ink : stage.soft, weight: i === query ? 700 : 400 });
    frame(layer, { x: along(query, query, NEAR), y: 0.26, size: NEAR.wide }, stage.accent, 3);
    // The whole row, each square as a thin column.
    const cell = (picture.naturalWidth || picture.width) / SIDE, column = 0.96 / PATCHES, left = (i) => 0.02 + i * column;
    for (let i = 0; i < PATCHES; i++)
      pen.drawImage(picture, (i % SIDE) * cell, Math.floor(i / SIDE) * cell, cell, cell, left(i) * size, 0.62 * size, column * size + 0.5, 0.1 * size);
    curve(layer, [[0, 0.46], [left(Math.max(0, query - 3)), 0.615]], stage.edge);
    curve(layer, [[1, 0.46], [left(Math.min(PATCHES, query + 4)), 0.615]], stage.edge);
    text(layer, "1", 0.02, 0.755, { colour: stage.soft, align: "left" });
    text(layer, "the whole row", 0.5, 0.755, { colour: stage.soft });
    text(layer, "256", 0.98, 0.755, { colour: stage.soft, align: "right" });
  },
};

const DOTS = { x: 0.03, y: 0.28, size: 0.44 };
// The dot of a square with the strongest colour, away from the edge.
function vivid(square) {
  const strength = (at) => Math.max(...square.subarray(3 * at, 3 * at + 3)) - Math.min(...square.subarray(3 * at, 3 * at + 3));
  const inside = [...Array(196).keys()].filter((at) => at % 14 > 1 && at % 14 < 12 && at > 27 && at < 168);
  return inside.reduce((best, at) => (strength(at) > strength(best) ? at : best));
}

const numbers = {
  place(out, { values: { query } }) {
    for (let i = 0; i < PATCHES; i++) put(out, i, along(query, i), 0, ROW.wide, ROW.wide, 0, 1);
    put(out, query, DOTS.x, DOTS.y, DOTS.size, DOTS.size, 0, 1);
  },
  over(layer, { values: { query, lists, square } }) {
    const { stage, pen, size } = layer, dot = DOTS.size / 14;
    frame(layer, { x: along(query, query), y: 0, size: ROW.wide }, stage.accent, 2);
    curve(layer, [[along(query, query), ROW.wide], [DOTS.x, DOTS.y]], stage.accent);
    curve(layer, [[along(query, query) + ROW.wide, ROW.wide], [DOTS.x + DOTS.size, DOTS.y]], stage.accent);
    for (let i = 0; i < 196; i++) {
      pen.fillStyle = `rgb(${square.subarray(3 * i, 3 * i + 3).join(",")})`;
      pen.fillRect((DOTS.x + (i % 14) * dot) * size, (DOTS.y + Math.floor(i / 14) * dot) * size, dot * size - 1, dot * size - 1);
    }
    frame(layer, DOTS, stage.accent, 2);
    const at = vivid(square), colours = square.subarray(3 * at, 3 * at + 3);
    frame(layer, { x: DOTS.x + (at % 14) * dot, y: DOTS.y + Math.floor(at / 14) * dot, size: dot }, "#fff", 2);
    text(layer, "14 × 14 dots; the marked one:", DOTS.x + DOTS.size / 2, 0.76, { weight: 600 });
    text(layer, `red ${colours[0]}, green ${colours[1]}, blue ${colours[2]}`, DOTS.x + DOTS.size / 2, 0.805, { colour: stage.soft, size: 0.95 });
    const first = query - (query % SIDE);
    for (let i = Math.max(first, query - 5); i <= Math.min(first + SIDE - 1, query + 5); i++)
      if (i !== query) list(layer, lists.subarray((i - first) * WIDTH, (i - first + 1) * WIDTH), { x: along(query, i), y: 0.095, wide: ROW.wide, high: ROW.wide });
    list(layer, lists.subarray((query - first) * WIDTH, (query - first + 1) * WIDTH), { ...LIST, wide: LIST.size, high: LIST.size });
    text(layer, "→", 0.5, 0.5, { size: 1.5 });
    text(layer, "384 numbers", LIST.x + LIST.size / 2, 0.76, { weight: 600 });
    text(layer, "orange above 0, blue below", LIST.x + LIST.size / 2, 0.805, { colour: stage.soft, size: 0.95 });
  },
};

const places = {
  place(out, { values: { orders }, shuffle }) {
    const to = new Uint8Array(PATCHES).map((_, i) => i);
    if (shuffle) for (let at = 0; at < PATCHES; at++) to[orders[(shuffle - 1) * PATCHES + at]] = at;
    together(out, LARGE, { fill: 0.94, to: (i) => to[i] });
  },
  over(layer, { values: { shuffled, words }, shuffle }) {
    const now = shuffle || 1, word = words[0][0];
    text(layer, `How sure is it of “${word}”?`, 0.5, 0.765, { weight: 600 });
    const group = (title, shares, x) => bars(layer, title, [["in order", shares[0]], ["shuffled", shares[now]]], { x, y: 0.835, wide: 0.45 });
    group("With places", shuffled.places, 0.02);
    group("Without places", shuffled.none, 0.55);
  },
};

const asks = {
  place: (out, { values, asked }) => together(out, WHOLE, { shade: spotlight(values.row(asked)) }),
  over(layer, { values, asked }) {
    const { stage } = layer, weights = values.row(asked).subarray(1), from = cellOf(asked, WHOLE), half = from.size / 2;
    const far = (i) => Math.max(Math.abs((i % SIDE) - (asked % SIDE)), Math.abs(Math.floor(i / SIDE) - Math.floor(asked / SIDE))) > 2;
    const best = [...weights.keys()].filter(far).sort((a, b) => weights[b] - weights[a]).slice(0, 8);
    for (const i of best.filter((one) => weights[one] > 0.01)) {
      const to = cellOf(i, WHOLE);
      curve(layer, [[from.x + half, from.y + half], [to.x + half, to.y + half]], stage.accent, 1 + 40 * weights[i], 0.12);
    }
    frame(layer, from, stage.accent, 3);
  },
  point(story, x, y) {
    const square = squareAt(WHOLE, x, y);
    return square === null ? null : { asked: square };
  },
  move: ({ asked }, right, down) => ({ asked: moved(asked, right, down, SIDE, SIDE) }),
};

function smallMaps(layer, story, opacity = () => 1) {
  gridOf(layer, story, GRID, opacity);
  const { stage } = layer;
  for (let i = 0; i < LAYERS; i++) text(layer, String(i + 1), GRID.x + ((i + 0.5) * GRID.wide) / LAYERS, 0.035, { colour: stage.soft, size: 0.85 });
  for (let i = 0; i < HEADS; i++) text(layer, String(i + 1), 0.022, GRID.y + ((i + 0.6) * GRID.high) / HEADS, { colour: stage.soft, size: 0.85 });
}
const small = (map) => ({ x: GRID.x + (Math.floor(map / HEADS) * GRID.wide) / LAYERS, y: GRID.y + ((map % HEADS) * GRID.high) / HEADS, size: GRID.wide / LAYERS });

const heads = {
  place: (out, story) => together(out, BELOW, { shade: spotlight(chosen(story)) }),
  over(layer, story) {
    const { stage } = layer, { query } = story.values;
    smallMaps(layer, story);
    frame(layer, small(story.map), stage.accent, 3);
    frame(layer, BELOW, stage.accent, 2);
    frame(layer, cellOf(query, BELOW), stage.accent, 2);
    text(layer, "layers: from the first, left, to the last, right", 0.5, 0.545, { colour: stage.soft, size: 0.85 });
  },
  point(story, x, y) {
    const map = mapAt(x, y);
    return map === null ? null : { map };
  },
  move: ({ map }, right, down) => ({ map: moveMap(map, right, down) }),
};

const CHART = { x: 0.09, y: 0.765, wide: 0.86, high: 0.185 };
const layers = {
  place: (out, { values: { alike }, layer }) =>
    together(out, LARGE, { shade: (i) => DARK * (1 - Math.max(0, alike[layer * PATCHES + i])) }),
  over(layer, { values: { alike, query, partner, apart }, layer: now }) {
    const { stage } = layer;
    frame(layer, cellOf(query, LARGE), stage.accent, 3);
    frame(layer, cellOf(partner, LARGE), stage.other, 3);
    const at = Array.from({ length: LAYERS + 1 }, (_, i) => alike[i * PATCHES + partner]);
    chart(layer, [[at, stage.other, "the other square"], [apart, stage.soft, "all the rest, on average"]], now, CHART);
  },
  point: (story, x, y) => (y < CHART.y - 0.04 ? null : { layer: Math.max(0, Math.min(LAYERS, Math.round(((x - CHART.x) / CHART.wide) * LAYERS))) }),
  move: ({ layer }, right, down) => ({ layer: Math.max(0, Math.min(LAYERS, layer + right - down)) }),
};

const read = {
  place: (out) => together(out, CORNERS[0]),
  over(layer, { values: { query, others, words } }) {
    const { stage, pen, size } = layer, from = cellOf(query, CORNERS[0]);
    others.forEach(({ picture, patch, alike }, n) => {
      const { x, y, size: wide } = CORNERS[n + 1], to = cellOf(patch, CORNERS[n + 1]);
      pen.drawImage(picture, x * size, y * size, wide * size, wide * size);
      curve(layer, [[from.x + from.size / 2, from.y + from.size / 2], [to.x + to.size / 2, to.y + to.size / 2]], stage.accent, 1 + 4 * Math.max(0, alike - 0.5), 0.1);
      frame(layer, to, stage.accent, 3);
      text(layer, alike.toFixed(2), x + 0.015, y + wide - 0.015, { align: "left", weight: 700, colour: "#fff", edge: "#000" });
    });
    frame(layer, from, stage.accent, 3);
    bars(layer, "Its word, from the part that was added", words.slice(0, 2), { x: 0.095, y: 0.86, wide: 0.82 });
  },
};

const without = {
  place: (out) => together(out, { x: 0.045, y: 0.6, size: 0.36 }),
  over(layer, story) {
    const { stage, pen, size } = layer, { changed } = story.values;
    smallMaps(layer, story, (map) => (map === story.removed ? 0.25 : 1));
    if (story.removed !== null) {
      const { x, y, size: wide } = small(story.removed);
      curve(layer, [[x, y], [x + wide, y + wide * 0.98]], stage.accent, 3);
      curve(layer, [[x + wide, y], [x, y + wide * 0.98]], stage.accent, 3);
    }
    frame(layer, small(story.map), stage.accent, 3);
    const known = [...changed].filter((one) => one === one).sort((a, b) => a - b), most = known.at(-1) || 1;
    // Below each small map, how far the summary moves without its head.
    pen.fillStyle = stage.accent;
    changed.forEach((moves, map) => {
      const { x, y, size: wide } = small(map);
      if (moves > 0) pen.fillRect((x + 0.003) * size, (y + GRID.high / HEADS - 0.012) * size, (wide - 0.009) * (moves / most) * size, Math.max(2, 0.006 * size));
    });
    const rows = [["this head", story.removed === null ? NaN : changed[story.removed]]];
    if (known.length > 36) rows.push(["the head in the middle of all 72", known[known.length >> 1]]);
    if (known.length) rows.push([known.length > 36 ? "the head that moves it most" : "the most so far", most]);
    bars(layer, "How far the summary moves", story.removed === null ? rows.slice(1) : rows, { x: 0.46, y: 0.615, wide: 0.52, most: Math.max(0.12, most) * 1.1, digits: 3 });
  },
  point(story, x, y) {
    const map = mapAt(x, y);
    return map === null ? null : { map };
  },
  press: (story, map) => ({ map, removed: story.removed === map ? null : map }),
  move: ({ map }, right, down) => ({ map: moveMap(map, right, down) }),
};

const open = {
  place: (out) => together(out, WHOLE),
  over: (layer, { values: { query } }) => frame(layer, cellOf(query, WHOLE), layer.stage.accent, 3),
};

export const SCENES = [whole, cut, row, numbers, places, asks, heads, layers, read, without, open];
