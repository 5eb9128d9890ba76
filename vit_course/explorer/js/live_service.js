// The service worker: lets the page open offline, and adds the headers that browsers require for threads with shared
// memory. Always asks the server first and uses the cache only if that fails, so that nothing is ever outdated.

import { keyOf, STORE } from "./live/shell.js";

// In lower case, as in the headers of a response.
const HEADERS = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const MARK = 'id="live-page"'; // by which the page is recognised
const { scope } = self.registration;

function isolated({ body, status, statusText, headers }) {
  return new Response(body, { status, statusText, headers: { ...Object.fromEntries(headers), ...HEADERS } });
}

// Whether an answer for the page itself comes from another site, which may now be served here, especially on localhost.
async function isAnothers(response) {
  if (response.type !== "basic") return true; // a redirect
  if (!response.ok) return response.status < 500; // a server that fails is not another one
  return !(await response.clone().text()).includes(MARK);
}

// Unregisters, and forgets the files.
async function leave() {
  const store = await caches.open(STORE);
  for (const { url } of await store.keys()) if (url.startsWith(scope)) await store.delete(url);
  await self.registration.unregister();
}

async function answered(event, key) {
  const store = await caches.open(STORE).catch(() => null);
  let response;
  try {
    response = await fetch(event.request);
  } catch {
    const kept = await store?.match(key);
    return kept ? isolated(kept) : Response.error();
  }
  if (key === scope && await isAnothers(response)) {
    await leave();
    return response;
  }
  // Redirects, errors and other origins are left to the browser.
  if (response.type !== "basic" || !response.ok) return response;
  event.waitUntil(Promise.resolve(store?.put(key, response.clone())).catch(() => {})); // a full disk
  return isolated(response);
}

async function asked() {
  if (await isAnothers(await fetch(scope, { redirect: "manual" }))) await leave();
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const key = event.request.method === "GET" && keyOf(event.request.url, scope);
  if (key) event.respondWith(answered(event, key));
  // A page at another address of the folder may be the first that another owner shows.
  else if (event.request.mode === "navigate") event.waitUntil(asked().catch(() => {}));
});
