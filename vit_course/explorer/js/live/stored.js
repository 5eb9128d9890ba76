// Loads the large model's precomputed maps of the course's photographs (precompute.py), long before the model is
// loaded.

import { opened } from "./open.js";
import { pieces } from "./pieces.js";

// A file that is being loaded: a line of JSON, and then the bytes of `data`.
class Coming {
  line = []; // the bytes of the line so far
  at = 0; // how many bytes of `data` are loaded
  waiting = [];

  // Resolves when more has been loaded.
  more() {
    return new Promise((done) => this.waiting.push(done));
  }

  // Whether a layer of the panel is loaded; its keys come after its queries.
  has(panel, layer) {
    const { at, bytes } = panel.find("keys", layer);
    return at + bytes <= this.at;
  }

  // Resolves when a layer is loaded that is not decoded yet.
  async any(panel) {
    while (!panel.decoded.some((done, layer) => !done && this.has(panel, layer))) await this.more();
  }

  // Resolves when everything is loaded.
  async end() {
    while (!this.whole) await this.more();
  }

  // Leaves this object out of a saved page.
  toJSON() {}

  get whole() {
    return this.at === this.described?.bytes;
  }

  // Loads the file, from where it was interrupted or, if the server does not support that, from the beginning.
  async fill(path, signal) {
    const begin = this.data ? this.head + this.at : 0;
    for await (const { at, piece } of pieces(path, begin, 0, { signal })) {
      if (!this.data) this.open(at, piece);
      else this.put(at - this.head, piece);
    }
    if (!this.whole) throw new Error(`${path} did not arrive completely`);
  }

  open(at, piece) {
    if (!at) this.line = [];
    const end = piece.indexOf(10); // the newline
    this.line.push(...piece.subarray(0, end < 0 ? piece.length : end));
    if (end < 0) return;
    this.described = JSON.parse(new TextDecoder().decode(Uint8Array.from(this.line)));
    this.data = new Uint8Array(this.described.bytes);
    this.head = this.line.length + 1;
    this.put(0, piece.subarray(end + 1));
  }

  put(at, piece) {
    const left = at < 0 ? piece.subarray(-at) : piece;
    this.data.set(left, Math.max(0, at));
    this.at = Math.max(this.at, at + piece.length);
    for (const done of this.waiting.splice(0)) done();
  }

  // Adds the picture and the uncropped picture after the end of all data. -> the panel's description with them.
  add({ bytes, media, size, whole }) {
    const { described } = this, sections = [...described.sections], { kept } = whole;
    const files = [["picture", { bytes, media }], ...(kept ? [["whole", whole]] : [])];
    const data = new Uint8Array(described.bytes + bytes.length + (kept ? whole.bytes.length : 0));
    data.set(this.data.subarray(0, this.at));
    let at = described.bytes;
    for (const [name, file] of files) {
      data.set(file.bytes, at);
      sections.push({ name, layer: null, at, bytes: file.bytes.length, coding: "file", media: file.media });
      at += file.bytes.length;
    }
    this.data = data;
    return { ...described, height: size, width: size, kept, sections };
  }
}

const online = () => new Promise((done) => addEventListener("online", done, { once: true }));

export class Stored {
  now = null; // the result of `of` that is shown

  // model: the large one's entry in the page's list.
  constructor(model) {
    this.model = model;
  }

  // {maps, source, name}: the addresses of the maps and the photograph. -> {panel, data} as from a worker, as soon as
  // the first layer is loaded; null if it fails or is aborted.
  async of({ maps, source, name }) {
    const coming = new Coming(), stop = (this.stop = new AbortController()), { signal } = stop;
    const filled = coming.fill(maps, signal);
    const seen = async () => opened(await (await fetch(source, { signal })).blob(), name, this.model.sizes[0], this.model);
    const front = async () => {
      while (!(coming.at >= coming.described?.front)) await Promise.race([coming.more(), filled]);
    };
    try {
      const [{ picture }] = await Promise.all([seen(), front()]);
      const panel = { ...coming.add(picture), coming };
      filled.catch(() => this.again(coming, maps, signal));
      return { panel, data: coming.data, whole: picture.whole, coming, stop, all: filled.catch(() => {}) };
    } catch {
      return null;
    }
  }

  async again(coming, maps, signal) {
    while (!coming.whole && !signal.aborted) {
      await online();
      await coming.fill(maps, signal).catch(() => {});
    }
  }

  // Aborts what is loading but not shown yet.
  leave() {
    this.stop?.abort();
  }

  // found: the result that is shown now, or null if something else is; then() is called once all of it is loaded, or
  // loading was interrupted.
  shows(found, then = () => {}) {
    this.now?.stop.abort();
    this.now = found;
    this.stop = null;
    Promise.resolve(found?.all).then(() => this.now === found && then());
  }

  // Whether some layers of the shown panel are not loaded yet.
  get partly() {
    return this.now !== null && !this.now.coming.whole;
  }
}
