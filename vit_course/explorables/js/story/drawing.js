// What the scenes draw with. Places and sizes are shares of the canvas; `layer` is {pen, size, stage}.

import { bright, HEADS, LAYERS, SIDE, TOKENS } from "./values.js";

// edge: the colour of an outline, for words on a picture
export function text({ pen, size, stage }, words, x, y, { colour = stage.ink, align = "center", weight = 400, size: times = 1, edge } = {}) {
  pen.font = `${weight} ${stage.font * times}px ${stage.family}`;
  pen.textAlign = align;
  if (edge) {
    Object.assign(pen, { strokeStyle: edge, lineWidth: 4, lineJoin: "round" });
    pen.strokeText(words, x * size, y * size);
  }
  pen.fillStyle = colour;
  pen.fillText(words, x * size, y * size);
}

export function frame({ pen, size }, { x, y, size: wide, high = wide }, colour, thick) {
  Object.assign(pen, { strokeStyle: colour, lineWidth: thick });
  pen.strokeRect(x * size - thick / 2, y * size - thick / 2, wide * size + thick, high * size + thick);
}

// A line between two points, bent to one side by a share of its length.
export function curve({ pen, size }, [[x, y], [u, v]], colour, thick = 1.5, bend = 0) {
  Object.assign(pen, { strokeStyle: colour, lineWidth: Math.min(thick, 7), lineCap: "round" });
  pen.beginPath();
  pen.moveTo(x * size, y * size);
  pen.quadraticCurveTo(((x + u) / 2 + (v - y) * bend) * size, ((y + v) / 2 - Math.abs(u - x) * bend * 2) * size, u * size, v * size);
  pen.stroke();
}

// 384 numbers as coloured cells, 24 in a row.
export function list({ pen, size, stage }, values, { x, y, wide, high }) {
  const columns = 24, rows = values.length / columns, most = 60;
  pen.save();
  values.forEach((value, i) => {
    pen.fillStyle = value > 0 ? stage.accent : stage.other;
    pen.globalAlpha = Math.min(1, Math.abs(value) / most) * 0.95 + 0.03;
    const cell = [(wide * size) / columns, (high * size) / rows], gap = cell[0] > 5 ? 1 : 0;
    pen.fillRect(x * size + (i % columns) * cell[0], y * size + Math.floor(i / columns) * cell[1], cell[0] - gap, cell[1] - gap);
  });
  pen.restore();
}

// Rows of [name, value] as bars below a title: shares as percents, with the name beside them; with `digits` plain
// numbers, with the name above.
export function bars(layer, title, rows, { x, y, wide, most = 1, digits = null }) {
  const { pen, size, stage } = layer, em = stage.font / size, above = digits !== null, high = em * (above ? 3 : 1.75);
  const left = above ? x : x + em * 6.2, room = wide - (left - x) - em * 3.6;
  text(layer, title, x, y, { align: "left", weight: 600 });
  rows.forEach(([name, value], n) => {
    const line = y + em * 0.6 + n * high, bar = above ? line + em * 1.45 : line + em * 0.2;
    text(layer, name, x, line + em * 1.1, { align: "left", colour: stage.soft, size: 0.95 });
    pen.fillStyle = above && !n && rows.length > 2 ? stage.accent : stage.other;
    const length = Math.max(0.004, room * Math.min(1, (value || 0) / most));
    pen.fillRect(left * size, bar * size, length * size, em * 1.05 * size);
    const words = value === value ? (above ? value.toFixed(digits) : `${(100 * value).toFixed(0)} %`) : "...";
    text(layer, words, left + length + 0.012, bar + em * 0.9, { align: "left", size: 0.95, weight: 600 });
  });
}

// Curves over the layers; the values at `now` are marked and written out.
export function chart(layer, lines, now, { x, y, wide, high }) {
  const { pen, size, stage } = layer;
  const across = (i) => x + (wide * i) / LAYERS, up = (value) => y + high * (1 - (value + 0.1) / 1.1);
  for (const value of [0, 1]) {
    curve(layer, [[x, up(value)], [x + wide, up(value)]], stage.line, 1);
    text(layer, String(value), x - 0.012, up(value) + 0.01, { align: "right", colour: stage.soft, size: 0.85 });
  }
  curve(layer, [[across(now), y - 0.01], [across(now), y + high]], stage.ink, 1.5);
  for (const [values, colour, name] of lines) {
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.beginPath();
    values.forEach((value, i) => pen.lineTo(across(i) * size, up(value) * size));
    pen.stroke();
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(across(now) * size, up(values[now]) * size, 5, 0, 7);
    pen.fill();
    text(layer, name, x + wide, up(values.at(-1)) - 0.022, { align: "right", colour, weight: 600, size: 0.9 });
  }
  text(layer, now ? `after layer ${now}` : "before the first layer", Math.max(x + 0.1, Math.min(x + wide - 0.08, across(now))), y + high + 0.04, { size: 0.9, weight: 600 });
}

// A picture of 16 x 16 pixels, as dark as a map is. The root keeps weak light visible at this size.
function mask(weights) {
  const canvas = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
  const pen = canvas.getContext("2d"), data = new ImageData(SIDE, SIDE), squares = weights.subarray(1), full = bright(squares);
  squares.forEach((weight, i) => (data.data[4 * i + 3] = 205 * (1 - Math.sqrt(Math.min(1, weight / full)))));
  pen.putImageData(data, 0, 0);
  return canvas;
}

// All 72 maps of the query, painted once for each photograph and query.
function atlas(values, pixels) {
  const canvas = Object.assign(document.createElement("canvas"), { width: LAYERS * pixels, height: HEADS * pixels });
  const pen = canvas.getContext("2d");
  for (let map = 0; map < LAYERS * HEADS; map++) {
    const [x, y] = [Math.floor(map / HEADS) * pixels, (map % HEADS) * pixels];
    pen.imageSmoothingEnabled = true;
    pen.drawImage(values.picture, x, y, pixels, pixels);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(mask(values.maps.subarray(map * TOKENS, (map + 1) * TOKENS)), x, y, pixels, pixels);
  }
  return canvas;
}

// -> the atlas for a size, as in `gridOf`; painted anew only if it has changed.
export function atlasOf(values, { wide }, size, sharp) {
  const pixels = 16 * Math.max(2, Math.round(((wide / LAYERS) * size * sharp) / 16 + 0.4));
  if (values.atlas?.of !== values.maps || values.atlas.pixels !== pixels) values.atlas = { of: values.maps, pixels, canvas: atlas(values, pixels) };
  return values.atlas;
}

export function gridOf({ pen, size, stage }, { values }, { x, y, wide, high }, opacity) {
  const { canvas, pixels } = atlasOf(values, { wide }, size, stage.sharp);
  const shown = pen.globalAlpha, [w, h] = [(wide / LAYERS) * size, (high / HEADS) * size], gap = Math.max(1, w * 0.04);
  for (let map = 0; map < LAYERS * HEADS; map++) {
    const [column, row] = [Math.floor(map / HEADS), map % HEADS];
    pen.globalAlpha = shown * opacity(map);
    pen.drawImage(canvas, column * pixels, row * pixels, pixels, pixels, x * size + column * w, y * size + row * h, w - gap, h - gap);
  }
  pen.globalAlpha = shown;
}
