// Estimates the remaining time of a download from its recent speed. Numbers in, words out.

const WINDOW = 12_000, LEAST = 3000; // milliseconds over which speed is measured: at most, and at least
const SILENT = 8000; // milliseconds without a byte after which there is no estimate
// From so many seconds on, estimates are rounded to these steps; one near the last estimate does not replace it.
const STEPS = [[0, 10], [55, 60], [600, 300]], NEAR = 0.3;

function words(seconds) {
  if (seconds < 60) return `about ${seconds} seconds left`;
  return `about ${seconds / 60} minute${seconds > 60 ? "s" : ""} left`;
}

export class Left {
  constructor() {
    this.heard = []; // [milliseconds, bytes that have come over the line]
    this.said = null; // the last estimate in seconds
  }

  // came: bytes received so far; to: bytes still to come; now: milliseconds. -> the estimate in words, or "".
  after(came, to, now) {
    if (came < (this.heard.at(-1)?.[1] ?? 0)) this.heard = [];
    if (came !== this.heard.at(-1)?.[1]) this.heard.push([now, came]);
    // The window begins at the newest entry that is older than it.
    while (this.heard.length > 2 && this.heard[1][0] < now - WINDOW) this.heard.shift();
    const [first, last] = [this.heard[0], this.heard.at(-1)];
    if (now - last[0] > SILENT || now - first[0] < LEAST || last === first) {
      this.said = null;
      return "";
    }
    const seconds = (to * (now - first[0])) / 1000 / (last[1] - first[1]);
    const [, step] = STEPS.findLast(([from]) => seconds >= from);
    const near = this.said !== null && Math.abs(seconds - this.said) < NEAR * this.said;
    if (!near) this.said = Math.max(step, Math.round(seconds / step) * step);
    return words(this.said);
  }
}
