// Runs long work in slices, between which the page stays responsive.

const SLICE = 6; // ms, of the 16 of a frame
const waiting = [];
let running = false;

export function background(work) {
  // work: a generator that yields wherever it may be interrupted.
  waiting.push(work);
  if (!running) {
    running = true;
    setTimeout(slice);
  }
}

function slice() {
  const end = performance.now() + SLICE;
  while (waiting.length && performance.now() < end) {
    const work = waiting.shift();
    if (!work.next().done) waiting.push(work);
  }
  running = waiting.length > 0;
  // A pause as long as the slice, so that pointer events never wait long.
  if (running) setTimeout(slice, SLICE);
}

export function forAtMost(work, milliseconds) {
  // Runs a generator for a limited time; -> whether it is done.
  const end = performance.now() + milliseconds;
  while (performance.now() < end) if (work.next().done) return true;
  return false;
}

export function afterwards(call) {
  // -> a function that calls `call` as soon as the current frame is painted, with the value of its last call. By a
  // message, as a timer would come a few milliseconds later.
  const { port1, port2 } = new MessageChannel();
  let waiting = false, ended = false;
  let last;
  port1.onmessage = () => {
    waiting = false;
    if (!ended) call(last);
  };
  const later = (value) => {
    last = value;
    if (!waiting) port2.postMessage((waiting = true));
  };
  later.end = () => {
    ended = true;
    port1.close();
  };
  return later;
}
