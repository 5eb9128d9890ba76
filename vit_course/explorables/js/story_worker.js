// The worker of the story, for a visitor's own photograph: it runs vit-s14 as the live page does, and computes what each
// scene shows, as res/explorables/make_story.py does. It takes these messages:
//   {kind: "page", page}                  the live page's list of files
//   {kind: "look", ticket, file, others}  answered by "picture", "progress", "computing", "values", and "shuffled"
//                                         six times; or by "refused"
//   {kind: "without", ticket, map}        answered by "without": how far the summary moves without that head
import { plan } from "../../explorer/js/live/change.js";
import { opened, Refusal } from "../../explorer/js/live/open.js";
import { said } from "../../explorer/js/live/panel.js";
import { normalised } from "../../explorer/js/live/picture.js";
import { Runtime } from "../../explorer/js/live/runtime.js";
import { findOpening } from "../../explorer/js/opening_view.js";

const MODEL = "vit-s14", SIZE = 224, PATCH = 14, SIDE = 16, PATCHES = 256, TOKENS = 257, WIDTH = 384, DIM = 64, HEADS = 6, LAYERS = 12;
let page, runtime, opening, kept = null, newest = 0;

const dot = (a, i, b, j, width) => {
  let sum = 0;
  for (let c = 0; c < width; c++) sum += a[i + c] * b[j + c];
  return sum;
};
const cosine = (a, i, b, j, width) => dot(a, i, b, j, width) / Math.sqrt(dot(a, i, a, i, width) * dot(b, j, b, j, width));

// The weights that one token gives to all, in one map.
function weightsOf({ queries, keys }, layer, head, token) {
  const base = head * TOKENS * DIM, [q, k] = [queries[layer].data, keys[layer].data], row = new Float32Array(TOKENS);
  for (let i = 0; i < TOKENS; i++) row[i] = dot(q, base + token * DIM, k, base + i * DIM, DIM) / Math.sqrt(DIM);
  const top = row.reduce((a, b) => Math.max(a, b));
  const sum = row.reduce((total, value, i) => total + (row[i] = Math.exp(value - top)), 0);
  return row.map((value) => value / sum);
}

// How alike the patches are to one of them, after each layer, once their mean is subtracted: (L + 1, N).
export function alikeOf(stream, query) {
  return stream.map(({ data }) => {
    const mean = new Float32Array(WIDTH), centred = new Float32Array(PATCHES * WIDTH);
    for (let i = WIDTH; i < data.length; i++) mean[i % WIDTH] += data[i] / PATCHES;
    for (let i = 0; i < centred.length; i++) centred[i] = data[WIDTH + i] - mean[i % WIDTH];
    return Float32Array.from({ length: PATCHES }, (_, i) => cosine(centred, query * WIDTH, centred, i * WIDTH, WIDTH));
  });
}

const far = (a, b, least) => Math.max(Math.abs((a % SIDE) - (b % SIDE)), Math.abs(Math.floor(a / SIDE) - Math.floor(b / SIDE))) >= least;

// Pixels (size, size, 3) with the patches in another order: place `at` gets patch order[at].
export function shuffledPixels(pixels, order) {
  const out = new Uint8ClampedArray(pixels.length);
  for (let at = 0; at < PATCHES; at++)
    for (let y = 0; y < PATCH; y++) {
      const start = (i) => 3 * ((Math.floor(i / SIDE) * PATCH + y) * SIZE + (i % SIDE) * PATCH);
      out.set(pixels.subarray(start(order[at]), start(order[at]) + 3 * PATCH), start(at));
    }
  return out;
}

// The same five orders at every visit (Park and Miller's generator).
function orders() {
  let seed = 1;
  const draw = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const one = () => Array.from({ length: PATCHES }, (_, i) => [draw(), i]).sort(([a], [b]) => a - b).map(([, i]) => i);
  return Array.from({ length: 5 }, one).flat();
}

const engine = () => runtime.engines[MODEL];
const embedded = (pixels) => engine().begin(normalised(pixels, page.models[MODEL].mean, page.models[MODEL].std), SIZE);
const usual = { first: 0, layers: [] };

async function computed(begun, going) {
  const found = await engine().compute(begun, usual, going);
  if (!found) throw null; // a newer photograph has come
  return found;
}

const sure = (found, word) => {
  const { labels, probabilities } = said(found.lens.data, page.models[MODEL]);
  return probabilities[labels.indexOf(word)];
};

const biasOf = () => engine().stored.get("embeddings.patch_embeddings.projection.bias").data;

// The embedded picture without the position of any patch; the class token keeps its own. zeros: an embedded picture of
// zeros, in which a patch is the bias and its position.
function withoutPlaces({ tokens }, zeros) {
  const [{ data, dims }, bias] = [tokens[0], biasOf()], plain = data.slice();
  for (let i = WIDTH; i < plain.length; i++) plain[i] -= zeros[i] - bias[i % WIDTH];
  return { tokens: [engine().tensor(plain, ...dims)], queries: [], keys: [], sums: [] };
}

// Tells one after the other how sure the word is, in order and in each of the orders, with places and without.
async function shuffle(pixels, word, order, zeros, going, tell) {
  for (let n = 0; n <= 5; n++) {
    const begun = await embedded(n ? shuffledPixels(pixels, order.slice((n - 1) * PATCHES, n * PATCHES)) : pixels);
    const places = sure(await computed(begun, going), word);
    tell({ kind: "shuffled", n, places, none: sure(await computed(withoutPlaces(begun, zeros), going), word) });
  }
}

// What the patches of the query's row become before their places are added, in shares of the largest times 127.
function listsOf({ tokens }, zeros, query) {
  const { data } = tokens[0], first = query - (query % SIDE), from = (1 + first) * WIDTH, bias = biasOf();
  const rows = data.subarray(from, from + SIDE * WIDTH).map((value, i) => value - zeros[from + i] + bias[i % WIDTH]);
  const largest = rows.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return rows.map((value) => (127 * value) / largest);
}

async function look({ ticket, file, others }) {
  const going = () => ticket === newest, tell = (message, moved = []) => postMessage({ ticket, ...message }, moved);
  const model = page.models[MODEL];
  const { pixels, picture } = await opened(file, file.name || "The picture", SIZE, model);
  const bitmap = await createImageBitmap(new Blob([picture.bytes], { type: picture.media }));
  tell({ kind: "picture", values: { picture: bitmap } });
  await (opening ??= runtime.open(MODEL, (message) => postMessage(message)).catch((error) => ((opening = null), Promise.reject(error))));
  if (!going()) return;
  tell({ kind: "computing" });
  const begun = await embedded(pixels), found = await computed(begun, going);
  const panel = { rows: SIDE, columns: SIDE, prefix: 1, patches: PATCHES, layers: LAYERS, heads: HEADS, row: (l, h, token) => weightsOf(found, l, h, token) };
  const start = findOpening(panel) ?? { layer: 8, head: 3, query: 120 }, query = start.query - 1;
  const alike = alikeOf(found.tokens, query), last = alike.at(-1);
  const away = [...last.keys()].filter((i) => far(i, query, 3));
  const partner = away.reduce((best, i) => (last[i] > last[best] ? i : best), away[0]);
  const rest = [...last.keys()].filter((i) => far(i, query, 3) && far(i, partner, 3));
  const maps = new Uint8Array(LAYERS * HEADS * TOKENS);
  for (let map = 0; map < LAYERS * HEADS; map++) {
    const row = weightsOf(found, Math.floor(map / HEADS), map % HEADS, query + 1), most = row.reduce((a, b) => Math.max(a, b));
    maps.set(row.map((value) => Math.round((255 * value) / most)), map * TOKENS);
  }
  const rows = new Float32Array(PATCHES * TOKENS);
  for (let i = 0; i < PATCHES; i++) rows.set(weightsOf(found, start.layer, start.head, i + 1), i * TOKENS);
  const zeros = (await engine().begin(new Float32Array(3 * SIZE * SIZE), SIZE)).tokens[0].data;
  const square = new Uint8Array(3 * PATCH * PATCH), corner = 3 * (Math.floor(query / SIDE) * PATCH * SIZE + (query % SIDE) * PATCH);
  for (let y = 0; y < PATCH; y++) square.set(pixels.subarray(corner + 3 * y * SIZE, corner + 3 * (y * SIZE + PATCH)), 3 * PATCH * y);
  const told = said(found.lens.data, model), order = orders(), near = [], unknown = () => new Float32Array(6).fill(NaN);
  for (const { title, blob } of others) {
    const other = await opened(blob, title, SIZE, model), tokens = (await computed(await embedded(other.pixels), going)).features.data;
    const all = Float32Array.from({ length: PATCHES }, (_, i) => cosine(found.features.data, (query + 1) * WIDTH, tokens, (i + 1) * WIDTH, WIDTH));
    const patch = all.reduce((best, value, i) => (value > all[best] ? i : best), 0);
    near.push({ title, patch, alike: all[patch], picture: await createImageBitmap(blob) });
  }
  kept = { ticket, found };
  tell({ kind: "values", values: {
    picture: bitmap, query, partner, map: { layer: start.layer, head: start.head }, square, lists: listsOf(begun, zeros, query), rows, maps,
    alike: Float32Array.from(alike.flatMap((one) => [...one])), apart: alike.map((one) => rest.reduce((sum, i) => sum + one[i] / rest.length, 0)),
    orders: Uint8Array.from(order), shuffled: { places: unknown(), none: unknown() }, words: told.labels.map((name, i) => [name, told.probabilities[i]]), none: told.none,
    changed: new Float32Array(LAYERS * HEADS).fill(NaN), others: near,
  } });
  await shuffle(pixels, told.labels[0], order, zeros, going, tell);
}

// How far the summary moves when a head gives every token its mean: 1 - cosine.
async function without({ ticket, map }) {
  if (kept?.ticket !== ticket) return;
  const { found } = kept, change = { kind: "head", layer: Math.floor(map / HEADS), head: map % HEADS };
  const planned = plan([change], { layers: LAYERS, heads: HEADS, tokens: TOKENS, prefix: 1, width: WIDTH });
  const now = await engine().compute(found, planned, () => ticket === newest);
  if (now) postMessage({ kind: "without", ticket, map, moves: 1 - cosine(now.features.data, 0, found.features.data, 0, WIDTH) });
}

self.onmessage = async ({ data }) => {
  if (data.kind === "page") {
    page = data.page;
    return (runtime = new Runtime({ page, threads: 1, gpu: "0" }));
  }
  if (data.kind === "look") newest = data.ticket;
  await (data.kind === "look" ? look(data) : without(data)).catch((error) => {
    if (!error) return;
    const words = error instanceof Refusal ? error.message : `Your photograph could not be computed: ${error.message ?? error}.`;
    postMessage({ kind: "refused", ticket: data.ticket, words });
  });
};
