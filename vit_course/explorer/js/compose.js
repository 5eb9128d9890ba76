// Strengths as masks, and pictures under them. A map is drawn as a small mask of rows x columns that the browser
// enlarges, so that a move costs three drawings of a whole picture and no loop over its pixels.

export const FLOOR = 0.15; // what is left of the picture where there is no weight
export const HEAT = [255, 0, 102]; // rare in photographs
export const MOST = 0.7; // opacity of the heat at full strength
const WHITE = [255, 255, 255];

export function strengths(map, from, count, low, high) {
  // -> how strongly each is drawn, from 0 to 1.
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) out[i] = Math.min(Math.max((map[from + i] - low) / (high - low), 0), 1);
  return out;
}

export function bilinear(values, columns, rows, times, out = new Float32Array(columns * rows * times * times)) {
  // `times` as many columns and rows, the values at the middles of the old ones kept, beyond the outermost middles flat.
  // Browsers without a graphics card enlarge in sixteenths of a pixel, which shows as a grid: they enlarge the rest.
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

export function fillMask(data, map, from, columns, rows, low, high, { at = 0, width = columns, colour = WHITE, most = 1 } = {}) {
  // Into the RGBA bytes of a picture `width` pixels wide, from pixel `at` on: the colour, as opaque as the weight is high.
  const times = (255 * most) / (high - low);
  for (let row = 0, k = from; row < rows; row++) {
    for (let column = 0, to = 4 * (at + row * width); column < columns; column++, to += 4, k++) {
      data[to] = colour[0];
      data[to + 1] = colour[1];
      data[to + 2] = colour[2];
      data[to + 3] = (map[k] - low) * times; // the array clamps and rounds
    }
  }
}

export function canvasOf(width, height) {
  return Object.assign(document.createElement("canvas"), { width, height });
}

export function darkened(source, width, height) {
  // -> [the picture, what is left of it in the dark], of this size.
  const [bright, dark] = [canvasOf(width, height), canvasOf(width, height)];
  for (const canvas of [bright, dark]) {
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(source, 0, 0, width, height);
  }
  const context = dark.getContext("2d");
  context.globalAlpha = 1 - FLOOR;
  context.fillRect(0, 0, width, height);
  return [bright, dark];
}

export function spotlight(context, drawMask, bright, dark) {
  // Each pixel times FLOOR + (1 - FLOOR) a, where a is the mask that `drawMask` draws.
  const { width, height } = context.canvas;
  context.globalCompositeOperation = "source-over";
  context.clearRect(0, 0, width, height);
  drawMask(context);
  context.globalCompositeOperation = "source-in";
  context.drawImage(bright, 0, 0);
  context.globalCompositeOperation = "destination-over";
  context.drawImage(dark, 0, 0);
  context.globalCompositeOperation = "source-over";
}

export function heat(context, drawMask, bright) {
  context.globalCompositeOperation = "source-over";
  context.drawImage(bright, 0, 0);
  drawMask(context);
}

export function enlarge(context, mask, smooth, x = 0, y = 0, width = context.canvas.width, height = context.canvas.height) {
  context.imageSmoothingEnabled = smooth;
  context.imageSmoothingQuality = "low"; // bilinear
  context.drawImage(mask, x, y, width, height);
}

export function frame(context, x, y, width, height, line, style = "solid") {
  // Black inside white: seen on any colour.
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
