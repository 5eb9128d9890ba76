// A file on its way. What has come of it is kept, here and by the browser, so that after a break, or at the next visit,
// only the rest is asked for.

import { pieces } from "./live_pieces.js";

const PART = 1e6; // bytes: as many may be lost when the page is closed
const begun = new Map(); // path -> what has come, for as long as this thread lives

// A server that unpacks by itself what ends in .gz makes no mistake: WebAssembly begins with a zero.
export const unpackedByServer = (bytes) => bytes.length > 3 && bytes[0] === 0 && bytes[1] === 0x61;

// What the browser holds of a file that has not come whole, thrown away.
export async function forget(store, path) {
  begun.delete(path);
  try {
    for (const request of await store.keys())
      if (request.url.includes(`/${path}?from=`)) await store.delete(request);
  } catch {
    // no store
  }
}

export class Part {
  constructor(file, store) {
    Object.assign(this, { file, store, bytes: new Uint8Array(file.bytes), at: 0, saved: 0, mended: false });
  }

  // -> what there is of a file {path, bytes}.
  static async of(file, store) {
    const part = begun.get(file.path) ?? new Part(file, store);
    if (!part.at) await part.restore().catch(() => {});
    part.mended ||= part.at > 0;
    return part;
  }

  async restore() {
    for (let kept; (kept = await this.store?.match(`${this.file.path}?from=${this.at}`)); ) {
      const piece = new Uint8Array(await kept.arrayBuffer());
      if (!piece.length || this.at + piece.length > this.bytes.length) return;
      this.bytes.set(piece, this.at);
      this.saved = this.at += piece.length;
    }
  }

  // What has come since the last time, for the browser to keep. A full disk is no reason to fail.
  async save() {
    const { path } = this.file, [from, to] = [this.saved, this.at];
    if (!this.store || from === to || unpackedByServer(this.bytes)) return;
    this.saved = to;
    await this.store.put(`${path}?from=${from}`, new Response(this.bytes.slice(from, to))).catch(() => {});
  }

  put(piece) {
    if (this.at + piece.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.at + piece.length));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes.set(piece, this.at);
    this.at += piece.length;
  }

  // -> all bytes, once the rest has come. `count` hears of each piece, and of less than nothing where it begins anew.
  async whole(count, options) {
    const { path, bytes: size } = this.file;
    try {
      if (this.at < size)
        for await (const { at, piece, round } of pieces(path, this.at, size, options)) {
          if (at < this.at) await this.anew(count);
          else this.mended ||= round > 0;
          this.put(piece);
          count(piece.length);
          if (this.at - this.saved >= PART) await this.save();
        }
    } catch (error) {
      begun.set(path, this);
      await this.save();
      throw error;
    }
    return this.bytes.subarray(0, this.at);
  }

  async anew(count) {
    count(-this.at);
    await forget(this.store, this.file.path);
    Object.assign(this, { at: 0, saved: 0, mended: false });
  }
}
