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

// Unregisters: another site may now be served at this address, especially on localhost.
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
  // Redirects, errors and other origins are left to the browser.
  if (response.type !== "basic" || !response.ok) return response;
  if (key === scope && !(await response.clone().text()).includes(MARK)) {
    await leave();
    return response;
  }
  event.waitUntil(Promise.resolve(store?.put(key, response.clone())).catch(() => {})); // a full disk
  return isolated(response);
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const key = event.request.method === "GET" && keyOf(event.request.url, scope);
  if (key) event.respondWith(answered(event, key));
});
