// The service worker: the page opens without its server, and gets the headers that a browser wants before it lets
// several threads share memory, whatever the server sends. The server answers wherever it can, so nothing is ever old.

import { keyOf, STORE } from "./live_shell.js";

// In small letters, as the headers of an answer are listed.
const HEADERS = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
const MARK = 'id="live-page"'; // by which the page is known
const { scope } = self.registration;

function isolated({ body, status, statusText, headers }) {
  return new Response(body, { status, statusText, headers: { ...Object.fromEntries(headers), ...HEADERS } });
}

// An address may get another owner, above all that of a server on one's own machine.
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
  // A redirection, an error, another origin: the browser's affair.
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
