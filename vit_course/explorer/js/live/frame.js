// A camera frame, a square bitmap -> its pixels for the model, and a bitmap to show. For a worker: no page. No file is
// encoded or decoded, so that many frames a second are possible.

import { resized } from "./picture.js";

const canvases = {};

function canvasOf(name, side) {
  const canvas = (canvases[name] ??= new OffscreenCanvas(side, side));
  if (canvas.width !== side) Object.assign(canvas, { width: side, height: side });
  return canvas.getContext("2d", { alpha: false, willReadFrequently: name === "whole" });
}

// As `opened` of live_open.js, with a bitmap to show in place of a file: {pixels, picture: {bitmap, size}}.
export function framed(bitmap, size, { way, exact }) {
  const { width: side } = bitmap, whole = canvasOf("whole", side);
  whole.drawImage(bitmap, 0, 0);
  const pixels = resized(whole.getImageData(0, 0, side, side), size, way);
  if (!exact) return { pixels, picture: { bitmap, size } };
  bitmap.close();
  const rgba = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let i = 0; i < size * size; i++) rgba.set(pixels.subarray(3 * i, 3 * i + 3), 4 * i);
  const context = canvasOf("exact", size);
  context.putImageData(new ImageData(rgba, size, size), 0, 0);
  return { pixels, picture: { bitmap: context.canvas.transferToImageBitmap(), size } };
}
