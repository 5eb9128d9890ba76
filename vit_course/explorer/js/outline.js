// The smallest set of patches that holds a share of the weight on patches, and its border.

import { canvasOf, enlarge } from "./compose.js";

export const SHARES = [0.5, 0.8, 0.95];
// The lines differ in width and dashes, not in colour.
export const STYLES = [
  { width: 2.5, dash: [] },
  { width: 1.5, dash: [6, 4] },
  { width: 1.5, dash: [1.5, 3.5] },
];

export function smallestSets(map, from, count, shares = SHARES) {
  // -> for each patch how many of the sets contain it, Uint8Array (count). Sets are filled from the heaviest patch on.
  const order = Array.from({ length: count }, (_, patch) => patch).sort((a, b) => map[from + b] - map[from + a] || a - b);
  let total = 0;
  for (const patch of order) total += map[from + patch];
  const inside = new Uint8Array(count);
  for (const share of shares) {
    let sum = 0;
    for (const patch of order) {
      if (sum >= share * total * (1 - 1e-9)) break;
      sum += map[from + patch];
      inside[patch]++;
    }
  }
  return inside;
}

export function borders(inside, rows, columns, level) {
  // -> [x0, y0, x1, y1], in patches, of each line between patches inside and outside a set. `level` counts the sets
  // from the largest, 1: patches with inside >= level belong to it.
  const is = (row, column) => inside[row * columns + column] >= level;
  const out = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      if (row > 0 && is(row, column) !== is(row - 1, column)) out.push([column, row, column + 1, row]);
      if (column > 0 && is(row, column) !== is(row, column - 1)) out.push([column, row, column, row + 1]);
    }
  return joined(out);
}

function joined(edges) {
  // Joins adjacent edges on one line, so that the dashes are continuous.
  const open = new Map();
  const out = [];
  for (const edge of edges) {
    const across = edge[1] === edge[3];
    const before = open.get(`${across} ${edge[0]} ${edge[1]}`);
    const line = before ?? edge;
    if (before) [before[2], before[3]] = [edge[2], edge[3]];
    else out.push(edge);
    open.delete(`${across} ${edge[0]} ${edge[1]}`);
    open.set(`${across} ${line[2]} ${line[3]}`, line);
  }
  return out;
}

const SHADES = [0.6, 0.45, 0.25, 0]; // outside all sets, in one, two, three

export function shadeOutside(context, inside, { rows, columns }) {
  // Darkens each patch the more, the fewer sets contain it.
  const image = new ImageData(columns, rows);
  inside.forEach((sets, patch) => (image.data[4 * patch + 3] = 255 * SHADES[sets]));
  const canvas = canvasOf(columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  enlarge(context, canvas, false);
}

export function strokeSets(context, inside, panel, ratio) {
  const { width, height } = context.canvas;
  const [x, y] = [width / panel.columns, height / panel.rows];
  for (let set = SHARES.length - 1; set >= 0; set--) {
    const lines = borders(inside, panel.rows, panel.columns, SHARES.length - set);
    strokeLines(context, lines, x, y, STYLES[set], ratio);
  }
}

export function strokeLines(context, lines, x, y, { width, dash }, ratio) {
  // White on black, visible on any colour.
  for (const [colour, wider, dashes] of [["rgba(0,0,0,.55)", 1.5, []], ["#fff", 0, dash]]) {
    context.beginPath();
    for (const [x0, y0, x1, y1] of lines) {
      context.moveTo(x0 * x, y0 * y);
      context.lineTo(x1 * x, y1 * y);
    }
    context.strokeStyle = colour;
    context.lineWidth = (width + wider) * ratio;
    context.setLineDash(dashes.map((length) => length * ratio));
    context.stroke();
  }
  context.setLineDash([]);
}
