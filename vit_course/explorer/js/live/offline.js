// Registers the service worker of the page (live_service.js).

const MARK = "vit-course-live-arranged", PATIENCE = 2000; // milliseconds
const TOUCHES = ["pointerdown", "keydown", "dragenter", "paste"];

// Waits until the service worker controls the page; -> whether it does.
function controlled(worker) {
  return new Promise((done) => {
    worker.addEventListener("controllerchange", () => done(true), { once: true });
    setTimeout(() => done(worker.controller !== null), PATIENCE);
  });
}

// -> whether the page may begin; false if it is being reloaded to get the headers for threads. That happens only once,
// at a first visit, and not if the visitor has already touched the page.
export async function arranged() {
  const worker = navigator.serviceWorker;
  let touched = false;
  const touch = () => (touched = true);
  for (const kind of TOUCHES) document.addEventListener(kind, touch, true);
  try {
    const registering = worker.register("live_service.js"); // serviceWorker is undefined without https
    const enough = self.crossOriginIsolated || worker.controller || navigator.hardwareConcurrency < 2 || self !== top;
    if (enough || sessionStorage.getItem(MARK)) return registering.catch(() => {}), true;
    // Active, but not in control of the page: the visitor has forced a reload that bypasses it.
    if ((await registering).active || !(await controlled(worker)) || touched) return true;
    sessionStorage.setItem(MARK, "once");
    location.reload();
    return false;
  } catch {
    return true; // no service worker, or no storage to remember the reload by
  } finally {
    for (const kind of TOUCHES) document.removeEventListener(kind, touch, true);
  }
}
