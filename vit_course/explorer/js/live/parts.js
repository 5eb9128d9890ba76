// A file that is being loaded. The parts so far are kept, here and in the browser's cache, so that after an
// interruption, or at the next visit, only the rest is requested.

import { pieces } from "./pieces.js";

const PART = 1e6; // bytes between two saves: as many may be lost when the page is closed
const begun = new Map(); // path -> its Part, for as long as this thread lives

// Some servers unpack .gz files by themselves, which is allowed. Recognised by "\0a", with which WebAssembly begins.
export const unpackedByServer = (bytes) => bytes.length > 3 && bytes[0] === 0 && bytes[1] === 0x61;

// Deletes the cached parts of a file.
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

  // -> the Part of a file {path, bytes}, with all that has been loaded so far.
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

  // Caches the bytes since the last save. A full disk is no reason to fail.
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

  // Loads the rest. -> all bytes. Calls `count` for each piece, with a negative number if it starts over.
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
