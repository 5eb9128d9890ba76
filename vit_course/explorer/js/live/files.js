// Loads files of known size and checksum, with progress, and caches them in the browser. No model, no page.

import { forget, Part, unpackedByServer } from "./parts.js";

const NAME = "vit-course-live-";

// -> the cache of this version, after deleting those of others; null if the browser has none, as without https.
export async function openStore(version) {
  try {
    const name = NAME + version;
    for (const one of await caches.keys()) if (one.startsWith(NAME) && one !== name) await caches.delete(one);
    return await caches.open(name);
  } catch {
    return null;
  }
}

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function check(file, bytes) {
  const unpacked = unpackedByServer(bytes) && file.unpacked; // the checksum of the unpacked content
  if (!unpacked && bytes.length !== file.bytes)
    throw new Error(`${file.path} has ${bytes.length} bytes instead of ${file.bytes}`);
  // crypto.subtle exists only with https or on localhost.
  if (globalThis.crypto?.subtle && hex(await crypto.subtle.digest("SHA-256", bytes)) !== (unpacked || file.sha256))
    throw new Error(`${file.path} is not the file that this page was written with`);
}

const right = (file, bytes) => check(file, bytes).then(() => true, () => false);

// -> the bytes of one file {path, bytes, sha256, unpacked}. Calls `count` for each piece, with whether it was cached,
// full() if the browser has no room to cache the file, and anew() if the parts so far were discarded.
async function bytesOf(file, store, { count, full, anew }, signal) {
  const kept = await store?.match(file.path).then((found) => found?.arrayBuffer()).catch(() => null);
  if (kept) {
    const bytes = new Uint8Array(kept);
    if (await right(file, bytes)) {
      count(bytes.length, true);
      return bytes;
    }
  }
  const options = { cache: store ? "no-store" : "default", signal }; // not in the HTTP cache as well
  const part = await Part.of(file, store);
  count(part.at, true);
  let bytes = await part.whole(count, options);
  if (part.mended && !(await right(file, bytes))) {
    // The file has changed since the interruption, or a part is damaged: load all of it again.
    anew();
    await part.anew(count);
    bytes = await part.whole(count, options);
  }
  await forget(store, file.path);
  await check(file, bytes);
  // A full disk is no reason to fail.
  await store?.put(file.path, new Response(bytes)).catch(full);
  return bytes;
}

const underway = new Map(); // path -> {got, hear, done}: a file that two models want is loaded once

function shared(file, store, told) {
  let one = underway.get(file.path);
  if (!one) {
    one = { got: 0, hear: new Set() };
    const count = (more, kept) => {
      one.got += more;
      for (const { count } of one.hear) count(more, kept);
    };
    const each = (name) => () => one.hear.forEach((listener) => listener[name]());
    one.done = bytesOf(file, store, { count, full: each("full"), anew: each("anew") });
    one.done.catch(() => {}).finally(() => underway.delete(file.path));
    underway.set(file.path, one);
  }
  one.hear.add(told);
  told.count(one.got, true);
  return one.done;
}

// -> {contents: the bytes of all files, in their order, unkept: whether one of them could not be cached}. The first
// file is loaded before the others, as models share it. Calls said({loaded, total, came, anew}) at most once for each
// percent: `came` are the bytes from the network, `anew` says that a file had changed and is loaded again.
export async function loadAll(files, store, said) {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const stop = new AbortController(); // if one file fails, the others are cancelled
  let loaded = 0, came = 0, told = -1, unkept = false, changed = false;
  const count = (bytes, kept = false) => {
    loaded += bytes;
    if (!kept) came += Math.max(0, bytes);
    const part = Math.min(100, Math.floor((100 * loaded) / total));
    if (part !== told && !stop.signal.aborted) said({ loaded: Math.min(loaded, total), total, came, anew: changed });
    told = part;
  };
  const hears = { count, full: () => (unkept = true), anew: () => (changed = true) };
  const [first, ...others] = files;
  try {
    const contents = [await shared(first, store, hears)];
    contents.push(...(await Promise.all(others.map((file) => bytesOf(file, store, hears, stop.signal)))));
    return { contents, unkept };
  } catch (error) {
    stop.abort();
    throw error;
  }
}

// -> the decompressed content of a gzip file.
export async function unpacked(bytes) {
  if (unpackedByServer(bytes)) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
