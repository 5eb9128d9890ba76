// The cache of the page's own files, for opening it offline. The models have a cache of their own, with checksums
// (live_files.js).

export const STORE = "vit-course-page";
const FILES = ["live(_worker)?\\.js", "(explorer|live)\\.css", "runtime/[\\w.-]+\\.mjs", "photographs/[\\w-]+\\.jpg",
  "maps/[\\w-]+\\.bin", "saved\\.txt"];
const OURS = new RegExp(`^(${FILES.join("|")})$`);

// The key of a file of the page in the cache: its address without "?" and "#", or null for other files.
// scope: the address of its folder.
export function keyOf(address, scope) {
  const plain = address.split(/[?#]/)[0];
  if (!plain.startsWith(scope)) return null;
  const name = plain.slice(scope.length);
  if (["", "index.html"].includes(name)) return scope;
  return OURS.test(name) ? plain : null;
}

// Caches those of the files that are not cached yet. A full disk is no reason to fail.
export async function keep(files) {
  try {
    const store = await caches.open(STORE);
    for (const file of files) {
      if (await store.match(file)) continue;
      const response = await fetch(file);
      if (response.ok) await store.put(file, response);
    }
  } catch {
    // no https, no room, or no server any more
  }
}
