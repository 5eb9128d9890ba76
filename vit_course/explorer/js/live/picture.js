// Prepares a picture for a model: resized to cover a square, cropped at the centre, normalised. Numbers in, numbers
// out. The results equal those in Python: like PyTorch and Pillow for bytes, it rounds the resampling weights to
// integers.

// Where the pixels of the square lie on one axis of a picture of this length: the centre of pixel i is at
// first + (i + 0.5) * scale.
//   "crop": the shorter side is resized to `size`, then the centre is cut out (Hugging Face).
//   "fit": the largest square at the centre is resized (Pillow's ImageOps.fit).
export function axis(length, shorter, size, way) {
  if (way === "fit") return { scale: shorter / size, first: (length - shorter) / 2, count: size };
  const resized = Math.floor((size * length) / shorter);
  const scale = length / resized;
  return { scale, first: Math.floor((resized - size) / 2) * scale, count: size };
}

// The square that the model sees, in percent: x and y, the shares of the free room that lie to its left and above it;
// side, the share of the picture's shorter side.
export const MIDDLE = { x: 50, y: 50, side: 100 };

// -> the same in whole pixels.
export function box(width, height, square) {
  const side = Math.max(1, Math.round((Math.min(width, height) * square.side) / 100));
  const before = (length, share) => Math.round(((length - side) * share) / 100);
  return { left: before(width, square.x), top: before(height, square.y), side };
}

const cubic = (x) => {
  // Keys 1981, a = -0.5, as in Pillow and in PyTorch with antialias=True.
  const t = Math.abs(x);
  if (t < 1) return (1.5 * t - 2.5) * t * t + 1;
  return t < 2 ? ((-0.5 * t + 2.5) * t - 4) * t + 2 : 0;
};

// The number of fractional bits: 22 in Pillow; in PyTorch as many as let the largest weight fit into 16 bits.
function bitsFor(largest, way) {
  let bits = way === "fit" ? 22 : 0;
  while (bits < 22 && Math.floor(0.5 + largest * 2 ** (bits + 1)) < 2 ** 15) bits++;
  return bits;
}

// For each output pixel, the first input pixel and the integer weights from there on; `one` is the integer that stands
// for a weight of 1.
function taps({ scale, first, count }, length, way) {
  const wide = Math.max(scale, 1); // a picture made smaller is smoothed as well
  const starts = [], weights = [];
  for (let i = 0; i < count; i++) {
    const middle = first + (i + 0.5) * scale;
    const start = Math.max(0, Math.floor(middle - 2 * wide + 0.5));
    const end = Math.min(length, Math.floor(middle + 2 * wide + 0.5));
    const row = Float64Array.from({ length: end - start }, (_, j) => cubic((start + j - middle + 0.5) / wide));
    const sum = row.reduce((total, value) => total + value, 0);
    starts.push(start);
    weights.push(row.map((value) => value / sum));
  }
  const one = 2 ** bitsFor(Math.max(...weights.map((row) => Math.max(...row))), way);
  for (const row of weights) row.forEach((value, j) => (row[j] = Math.sign(value) * Math.floor(Math.abs(value) * one + 0.5)));
  return { starts, weights, one };
}

// {data, width, height}, four bytes a pixel -> (size, size, 3) bytes. First along the rows, then along the columns, and
// rounded to bytes in between, as in Python.
export function resized({ data, width, height }, size, way) {
  const shorter = Math.min(width, height);
  const across = taps(axis(width, shorter, size, way), width, way);
  const down = taps(axis(height, shorter, size, way), height, way);
  const top = down.starts[0], bottom = Math.max(...down.starts.map((start, i) => start + down.weights[i].length));
  const narrow = new Uint8ClampedArray((bottom - top) * size * 3);
  for (let y = top; y < bottom; y++)
    for (let i = 0; i < size; i++) {
      const row = across.weights[i];
      let at = 4 * (y * width + across.starts[i]), red = 0, green = 0, blue = 0;
      for (let j = 0; j < row.length; j++, at += 4) {
        red += row[j] * data[at];
        green += row[j] * data[at + 1];
        blue += row[j] * data[at + 2];
      }
      at = 3 * ((y - top) * size + i);
      narrow[at] = Math.floor(red / across.one + 0.5);
      narrow[at + 1] = Math.floor(green / across.one + 0.5);
      narrow[at + 2] = Math.floor(blue / across.one + 0.5);
    }
  const out = new Uint8ClampedArray(size * size * 3), line = 3 * size;
  for (let i = 0; i < size; i++)
    for (let x = 0; x < line; x++) {
      const column = down.weights[i];
      let at = (down.starts[i] - top) * line + x, sum = 0;
      for (let j = 0; j < column.length; j++, at += line) sum += column[j] * narrow[at];
      out[i * line + x] = Math.floor(sum / down.one + 0.5);
    }
  return out;
}

// (size, size, 3) bytes -> (3, size, size) floats.
export function normalised(pixels, mean, std) {
  const count = pixels.length / 3, out = new Float32Array(pixels.length);
  for (let channel = 0; channel < 3; channel++)
    for (let i = 0; i < count; i++)
      out[channel * count + i] = (pixels[3 * i + channel] / 255 - mean[channel]) / std[channel];
  return out;
}
