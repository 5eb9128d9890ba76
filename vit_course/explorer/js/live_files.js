// Files of known size and checksum, with progress, kept by the browser for the next visit. No model, no page.

import { forget, Part, unpackedByServer } from "./live_parts.js";

const NAME = "vit-course-live-";

// -> the store of this version, those of others thrown away; null where a browser has none (an address without https).
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
  const unpacked = unpackedByServer(bytes) && file.unpacked; // the file's sum once it is unpacked
  if (!unpacked && bytes.length !== file.bytes)
    throw new Error(`${file.path} has ${bytes.length} bytes instead of ${file.bytes}`);
  // Only an address with https, or this machine, has checksums.
  if (globalThis.crypto?.subtle && hex(await crypto.subtle.digest("SHA-256", bytes)) !== (unpacked || file.sha256))
    throw new Error(`${file.path} is not the file that this page was written with`);
}

const right = (file, bytes) => check(file, bytes).then(() => true, () => false);

// -> the bytes of one file {path, bytes, sha256, unpacked}. `count` hears of each piece and where it comes from, `full()`
// when the browser has no room to keep it, `anew()` when what came in parts was thrown away.
async function bytesOf(file, store, { count, full, anew }, signal) {
  const kept = await store?.match(file.path).then((found) => found?.arrayBuffer()).catch(() => null);
  if (kept) {
    const bytes = new Uint8Array(kept);
    if (await right(file, bytes)) {
      count(bytes.length, true);
      return bytes;
    }
  }
  const options = { cache: store ? "no-store" : "default", signal }; // kept once, not twice
  const part = await Part.of(file, store);
  count(part.at, true);
  let bytes = await part.whole(count, options);
  if (part.mended && !(await right(file, bytes))) {
    // Another file since the break, or a damaged part: once more, as a whole.
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

// -> {contents: the bytes of all files, in their order, unkept: whether the browser has no room for one of them}; the
// first comes before the others, as another model may want it too. `said` hears {loaded, total, came, anew}, at most
// once for each hundredth: `came` over the line, `anew` where a file has changed between its parts.
export async function loadAll(files, store, said) {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const stop = new AbortController(); // without one file the others are of no use
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

// -> what was squeezed by gzip, as it was.
export async function unpacked(bytes) {
  if (unpackedByServer(bytes)) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
