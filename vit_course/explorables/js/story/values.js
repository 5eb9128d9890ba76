// What the story shows of one photograph: the stored numbers of ours, or those that story_worker.js computes of the
// visitor's. Both have the same form:
//
//   picture   the square that the model sees, as something that a canvas can draw
//   query, partner       numbers of squares; partner: the one that becomes most like the query, outside its own part
//   map {layer, head}    of the large map
//   square    (14, 14, 3) bytes: the dots of the query;  lists (16, 384): what its row becomes, in steps of `step`
//   row(i)    the weights that square i gives to all 257 in the large map; the first is for the summary
//   maps      (72, 257) bytes: the weights of the query in all maps, in shares of the largest of each
//   alike     (13, 256) from -1 to 1: how alike each list is to the query's, before and after each layer
//   orders    (5, 256);  shuffled {places, none}: how sure the word is, in order and in each order
//   words [[word, share], ...] in falling order; none: a sentence if none of the words fits
//   changed   (72): how far the summary moves without each head; NaN until it is computed
//   others    [{picture, title, patch, alike}]: the square in other photographs that is most like the query

import { bytesOf, floats } from "../../../_support/widgets/js/bytes.js";

export const SIDE = 16, PATCHES = 256, TOKENS = 257, LAYERS = 12, HEADS = 6, WIDTH = 384;

// The weight at which a square is fully lit: only a few squares are brighter.
export function bright(weights) {
  return [...weights].sort((a, b) => b - a)[5] || 1;
}

const signed = (bytes, scale) => Float32Array.from(bytes, (value) => (value - 128) * scale);

async function pictureOf(bytes, type) {
  const picture = new Image();
  picture.src = URL.createObjectURL(new Blob([bytes], { type }));
  await picture.decode();
  return picture;
}

// model: as anywidget's. -> the values of our photograph; `picture` is already in the page.
export async function storedValues(model, picture) {
  const { sections, others, ...facts } = model.get("_facts");
  const data = bytesOf(model.get("_data")), found = {};
  for (const { name, at, bytes, coding, media } of sections) {
    const part = data.subarray(at, at + bytes);
    found[name] = coding === "f4" ? floats(part) : media ? [part, media] : part;
  }
  const { rows, largest } = found;
  return {
    ...facts, picture, square: found.square, orders: found.orders, maps: found.maps, changed: found.changed,
    lists: signed(found.lists, 1), alike: signed(found.alike, 1 / 127),
    row: (i) => Float32Array.from(rows.subarray(i * TOKENS, (i + 1) * TOKENS), (share) => (share / 255) * largest[i]),
    others: await Promise.all(others.map(async (one) => ({ ...one, picture: await pictureOf(...found[one.name]) }))),
  };
}
