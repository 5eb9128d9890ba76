// A picture file -> its pixels for the model, and the same part of the picture to show. For a worker: no page.

import { axis, box, MIDDLE, resized } from "./picture.js";

const MANY_PIXELS = 24e6; // of a larger picture only the central square is read, reduced to LARGE pixels a side
const LARGE = 2048;
const SHOWN = 896; // pixels a side, at most, of the picture to show, which may be finer than the model's
const TINY = 32; // pixels: the shorter side of a picture of which the visitor is told that it is small
const WHOLE = 640; // pixels of the longer side of the uncropped picture

// An error whose message is shown to the visitor as it is.
export class Refusal extends Error {}

const OURS = ["\xff\xd8\xff", "\x89PNG", "RIFF"]; // how JPEG, PNG and WebP begin
const HEIC = ["heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"];

// What is wrong with a file, in one sentence for the visitor.
async function why(name, blob) {
  if (!blob.size) return `${name} is empty: choose another picture.`;
  const head = String.fromCharCode(...new Uint8Array(await blob.slice(0, 12).arrayBuffer()));
  if (head.slice(4, 8) === "ftyp" && HEIC.includes(head.slice(8)))
    return `${name} is a HEIC photograph, which this browser cannot open: save it as JPEG first.`;
  if (OURS.some((begins) => head.startsWith(begins)))
    return `${name} cannot be opened: it is damaged, or too large for the memory of this browser.`;
  return `${name} is not a picture that this browser can open: choose a JPEG, PNG or WebP file.`;
}

// What the visitor should know of a file that can be used, or "".
async function remark(name, blob, { width, height }) {
  const head = String.fromCharCode(...new Uint8Array(await blob.slice(0, 4).arrayBuffer()));
  if (head === "GIF8") return ` ${name} is a GIF: only its first picture is used.`;
  return Math.min(width, height) < TINY ? ` ${name} has only ${width} × ${height} pixels, so there is little to see.` : "";
}

function drawn(bitmap, width, height, ...part) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff"; // the background of transparent pixels, as in Python
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, ...part, 0, 0, width, height);
  return { canvas, context };
}

export async function file(canvas, media, quality = 0.92) {
  const blob = await canvas.convertToBlob({ type: media, quality });
  return { bytes: new Uint8Array(await blob.arrayBuffer()), media: blob.type };
}

// The model's own pixels, as a PNG.
function exactly(pixels, size) {
  const rgba = new Uint8ClampedArray(size * size * 4).fill(255);
  for (let i = 0; i < size * size; i++) rgba.set(pixels.subarray(3 * i, 3 * i + 3), 4 * i);
  const canvas = new OffscreenCanvas(size, size);
  canvas.getContext("2d").putImageData(new ImageData(rgba, size, size), 0, 0);
  return file(canvas, "image/png");
}

// The same part of the picture with more pixels, if the file has more.
function finer(bitmap, size, part) {
  const side = Math.max(size, Math.min(SHOWN, Math.round(Math.min(...part.slice(2)))));
  return file(drawn(bitmap, side, side, ...part).canvas, "image/jpeg");
}

// The whole picture, small, as by `_small` of scene.py, and which part of it the model sees.
async function entire(bitmap, [left, top, wide, high], moved) {
  const { width, height } = bitmap, times = Math.min(1, WHOLE / Math.max(width, height));
  const { canvas } = drawn(bitmap, Math.round(width * times), Math.round(height * times), 0, 0, width, height);
  const { bytes, media } = await file(canvas, "image/jpeg", 0.8);
  // kept: the shares of height and width, null for all; at: the shares above and to the left, if not in the middle.
  const kept = Math.min(high / height, wide / width) < 0.99 ? [high / height, wide / width] : null;
  return { bytes, media, width, height, kept, at: kept && moved ? [top / height, left / width] : null };
}

// -> {pixels: (size, size, 3) bytes, picture: {bytes, media, size, whole}}; throws a Refusal if it is not a picture.
// model: {way, exact}: how it resizes, and whether its own few pixels are to be shown. square: as for `box`; null for
// the model's own crop of the middle.
export async function opened(blob, name, size, { way, exact }, square = null) {
  // Both follow the camera's orientation. Models are trained on the raw pixel values, in Python too, without the colour
  // profile of the file; the picture that is shown needs the profile.
  let bitmap, coloured;
  try {
    bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" });
    coloured = await createImageBitmap(blob);
  } catch {
    throw new Refusal(await why(name, blob));
  }
  let { width, height } = bitmap, part = [0, 0, width, height];
  const many = width * height > MANY_PIXELS;
  if (square || many) {
    const { left, top, side } = box(width, height, square ?? MIDDLE);
    part = [left, top, side, side];
    width = height = many ? Math.min(side, LARGE) : side;
  }
  const { context } = drawn(bitmap, width, height, ...part);
  const pixels = resized(context.getImageData(0, 0, width, height), size, way);
  // The part of the picture that these pixels cover.
  const shorter = Math.min(part[2], part[3]);
  const [across, down] = [part[2], part[3]].map((length) => axis(length, shorter, size, way));
  const seen = [part[0] + across.first, part[1] + down.first, across.scale * size, down.scale * size];
  const picture = await (exact ? exactly(pixels, size) : finer(coloured, size, seen));
  Object.assign(picture, { size, whole: await entire(coloured, seen, square !== null), remark: await remark(name, blob, coloured) });
  for (const one of [bitmap, coloured]) one.close();
  return { pixels, picture };
}
