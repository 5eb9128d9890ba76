// Files of known size and checksum, with progress, kept by the browser for the next visit. No model, no page.

const NAME = "vit-course-live-";
// A server that unpacks by itself what ends in .gz makes no mistake: WebAssembly begins with a zero.
const unpackedByServer = (bytes) => bytes.length > 3 && bytes[0] === 0 && bytes[1] === 0x61;

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

// The content of an answer, counted piece by piece as it comes.
async function read(response, { path, bytes: size }, count) {
  let bytes = new Uint8Array(size), at = 0;
  const reader = response.body.getReader();
  const next = () => reader.read().catch(() => {
    throw new Error(`${path} broke off after ${at} of ${size} bytes`);
  });
  for (let piece = await next(); !piece.done; piece = await next()) {
    if (at + piece.value.length > bytes.length) {
      const larger = new Uint8Array(Math.max(2 * bytes.length, at + piece.value.length));
      larger.set(bytes);
      bytes = larger;
    }
    bytes.set(piece.value, at);
    at += piece.value.length;
    count(piece.value.length);
  }
  return bytes.subarray(0, at);
}

// -> the bytes of one file {path, bytes, sha256, unpacked}. `count` hears of each piece, `full()` when the browser has
// no room to keep it.
async function bytesOf(file, store, count, full, signal) {
  const kept = await store?.match(file.path).catch(() => null);
  if (kept) {
    let got = 0;
    const bytes = await read(kept, file, (more) => ((got += more), count(more))).catch(() => null);
    if (bytes && (await check(file, bytes).then(() => true, () => false))) return bytes;
    count(-got); // damaged: once more, from the server
  }
  let response;
  try {
    response = await fetch(file.path, { cache: store ? "no-store" : "default", signal }); // kept once, not twice
  } catch {
    throw new Error(`${file.path} did not load: is the server still running?`);
  }
  if (!response.ok) throw new Error(`${file.path} is missing: the server answers ${response.status}`);
  const bytes = await read(response, file, count);
  await check(file, bytes);
  // A full disk is no reason to fail.
  await store?.put(file.path, new Response(bytes)).catch(full);
  return bytes;
}

// -> {contents: the bytes of all files, in their order, unkept: whether the browser has no room for one of them};
// `said` hears {loaded, total}, at most once for each hundredth.
export async function loadAll(files, store, said) {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const stop = new AbortController(); // without one file the others are of no use
  let loaded = 0, told = -1, unkept = false;
  const full = () => (unkept = true);
  const count = (bytes) => {
    loaded += bytes;
    const part = Math.min(100, Math.floor((100 * loaded) / total));
    if (part !== told && !stop.signal.aborted) said({ loaded: Math.min(loaded, total), total });
    told = part;
  };
  try {
    return { contents: await Promise.all(files.map((file) => bytesOf(file, store, count, full, stop.signal))), unkept };
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
