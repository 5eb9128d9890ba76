// What the large model saw in our photographs when the page was written (precompute.py): here long before the model is.

import { opened } from "./live_open.js";
import { pieces } from "./live_pieces.js";

// A file on its way: a line of JSON, and then what fills `data` from its beginning.
class Coming {
  line = []; // the bytes of it that are there
  at = 0; // how much of `data` is there
  waiting = [];

  // Once more has come.
  more() {
    return new Promise((done) => this.waiting.push(done));
  }

  // Whether a layer of the panel is there; its keys come after its queries.
  has(panel, layer) {
    const { at, bytes } = panel.find("keys", layer);
    return at + bytes <= this.at;
  }

  // Once there is a layer that has not been decoded.
  async any(panel) {
    while (!panel.decoded.some((done, layer) => !done && this.has(panel, layer))) await this.more();
  }

  // Once all is there.
  async end() {
    while (!this.whole) await this.more();
  }

  // A page that is saved does not wait for anything.
  toJSON() {}

  get whole() {
    return this.at === this.described?.bytes;
  }

  // From where it broke off, or from the beginning, if the server does not give the rest.
  async fill(path, signal) {
    const begin = this.data ? this.head + this.at : 0;
    for await (const { at, piece } of pieces(path, begin, 0, { signal })) {
      if (!this.data) this.open(at, piece);
      else this.put(at - this.head, piece);
    }
    if (!this.whole) throw new Error(`${path} did not come whole`);
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

  // The picture, and what it was cut out of, go behind what is there and what is to come.
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
  now = null; // what is shown of it

  // model: the large one's entry in the page's list.
  constructor(model) {
    this.model = model;
  }

  // {maps, source, name}: where the maps and the photograph are. -> {panel, data} as a worker gives them, as soon as one
  // layer is there; null where nothing can be shown, or something else is wanted.
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

  // What has not been shown yet is not wanted any more.
  leave() {
    this.stop?.abort();
  }

  // found: what is shown now, or null for something else; then() is called once all of it is there, or the rest does not
  // come for now.
  shows(found, then = () => {}) {
    this.now?.stop.abort();
    this.now = found;
    this.stop = null;
    Promise.resolve(found?.all).then(() => this.now === found && then());
  }

  // Whether some layers of what is shown have yet to come.
  get partly() {
    return this.now !== null && !this.now.coming.whole;
  }
}
