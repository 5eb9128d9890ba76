// The files of the page itself, as the browser keeps them to open it offline. The models are kept apart, each with its
// checksum (live_files.js).

export const STORE = "vit-course-page";
const FILES = ["live(_worker)?\\.js", "(explorer|live)\\.css", "runtime/[\\w.-]+\\.mjs", "photographs/[\\w-]+\\.jpg",
  "maps/[\\w-]+\\.bin", "saved\\.txt"];
const OURS = new RegExp(`^(${FILES.join("|")})$`);

// Where a file of the page is kept: its address without what follows "?", or null for what is not of the page.
// scope: the address of its folder.
export function keyOf(address, scope) {
  const plain = address.split(/[?#]/)[0];
  if (!plain.startsWith(scope)) return null;
  const name = plain.slice(scope.length);
  if (["", "index.html"].includes(name)) return scope;
  return OURS.test(name) ? plain : null;
}

// What the browser has not kept yet of some files, kept. A full disk is no reason to fail.
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
