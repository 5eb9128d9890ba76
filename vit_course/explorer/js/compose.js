// Draws maps over pictures. A map becomes a small mask of rows x columns that the browser enlarges, so that each frame
// costs two drawImage calls of a whole picture and no loop over its pixels.

export const FLOOR = 0.15; // the brightness of the picture where there is no weight
// A mask's colour, and its opacity where there is no weight (`least`) and at full strength (`most`). For the spotlight,
// black with opacity (1 - FLOOR)(1 - a) leaves FLOOR + (1 - FLOOR) a of each pixel. The colour of heat is rare in
// photographs, and looks blue to people who cannot tell red from green.
// PALE: under a spotlight the picture is mixed with this share of white, so that a black place can light up as well.
const PALE = 0.18;
export const MASKS = {
  spotlight: { colour: [0, 0, 0], least: 1 - FLOOR, most: 0, pale: PALE },
  heat: { colour: [204, 0, 255], least: 0, most: 0.7 },
};
const WHITE = [255, 255, 255];

export function strengths(map, from, count, low, high) {
  // -> how strongly each weight is drawn, from 0 to 1.
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) out[i] = Math.min(Math.max((map[from + i] - low) / (high - low), 0), 1);
  return out;
}

export function bilinear(values, columns, rows, times, out = new Float32Array(columns * rows * times * times)) {
  // Enlarges `times` in each direction, bilinearly between the centres of the old pixels, and constant beyond the
  // outermost ones. Done here first because browsers without a graphics card interpolate in steps of a sixteenth of a
  // pixel, which would show as a grid.
  const width = columns * times;
  const [left, share] = [new Int32Array(width), new Float32Array(width)];
  for (let x = 0; x < width; x++) {
    const at = Math.min(Math.max((x + 0.5) / times - 0.5, 0), columns - 1);
    left[x] = Math.min(Math.floor(at), Math.max(columns - 2, 0));
    share[x] = at - left[x];
  }
  const line = new Float32Array(columns + 1);
  for (let y = 0, to = 0; y < rows * times; y++) {
    const at = Math.min(Math.max((y + 0.5) / times - 0.5, 0), rows - 1);
    const [above, below] = [Math.floor(at), Math.min(Math.floor(at) + 1, rows - 1)];
    for (let c = 0; c < columns; c++) {
      const one = values[above * columns + c];
      line[c] = one + (at - above) * (values[below * columns + c] - one);
    }
    line[columns] = line[columns - 1];
    for (let x = 0; x < width; x++, to++) out[to] = line[left[x]] + share[x] * (line[left[x] + 1] - line[left[x]]);
  }
  return out;
}

export function fillMask(data, map, from, columns, rows, low, high, { at = 0, width = columns, colour = WHITE, least = 0, most = 1 } = {}) {
  // Writes a mask into the RGBA bytes of an image `width` pixels wide, from pixel `at` on: its opacity goes from
  // `least` at the weight `low` to `most` at `high`.
  const [first, times] = [255 * least, (255 * (most - least)) / (high - low)];
  for (let row = 0, k = from; row < rows; row++) {
    for (let column = 0, to = 4 * (at + row * width); column < columns; column++, to += 4, k++) {
      data[to] = colour[0];
      data[to + 1] = colour[1];
      data[to + 2] = colour[2];
      data[to + 3] = first + (map[k] - low) * times; // the array clamps and rounds
    }
  }
}

export function canvasOf(width, height) {
  return Object.assign(document.createElement("canvas"), { width, height });
}

export function scaled(source, width, height) {
  const canvas = canvasOf(width, height);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  return canvas;
}

export function overlaid(context, drawMask, picture, { pale = 0 } = {}) {
  context.drawImage(picture, 0, 0);
  context.fillStyle = `rgb(255 255 255 / ${pale})`;
  context.fillRect(0, 0, pale && context.canvas.width, context.canvas.height);
  drawMask(context);
}

export function enlarge(context, mask, smooth, x = 0, y = 0, width = context.canvas.width, height = context.canvas.height) {
  context.imageSmoothingEnabled = smooth;
  context.imageSmoothingQuality = "low"; // bilinear
  context.drawImage(mask, x, y, width, height);
}

export function ring(context, x, y, radius, line) {
  for (const [colour, less] of [["#000", line], ["#fff", 0]]) {
    context.beginPath();
    context.arc(x, y, radius - less, 0, 2 * Math.PI);
    Object.assign(context, { strokeStyle: colour, lineWidth: line });
    context.stroke();
  }
}

export function covered(context, x, y, width, height, line) {
  // Black with a white cross, so that a hidden patch is not taken for a dark place.
  context.fillStyle = "#000";
  context.fillRect(x, y, width, height);
  context.beginPath();
  for (const [from, to] of [[0.25, 0.75], [0.75, 0.25]]) {
    context.moveTo(x + from * width, y + 0.25 * height);
    context.lineTo(x + to * width, y + 0.75 * height);
  }
  Object.assign(context, { strokeStyle: "#fff", lineWidth: line });
  context.stroke();
}

export function frame(context, x, y, width, height, line, style = "solid") {
  // A black line inside a white one, visible on any colour.
  context.setLineDash(style === "dashed" ? [3 * line, 2 * line] : []);
  context.lineJoin = "miter";
  for (const [colour, inset] of [["#fff", 0], ["#000", line]]) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    const less = inset + line / 2;
    context.strokeRect(x + less, y + less, Math.max(width - 2 * less, 1), Math.max(height - 2 * less, 1));
  }
  context.setLineDash([]);
}
