// How long something that is loading will take still, from how fast the last of it came. Numbers in, words out.

const WINDOW = 12_000, LEAST = 3000; // milliseconds: of the line's past what counts, and how much of it there must be
const SILENT = 8000; // after so long without a byte nobody knows
// Seconds from which on a number is said in these steps; one that is near the last one said is not said anew.
const STEPS = [[0, 10], [55, 60], [600, 300]], NEAR = 0.3;

function words(seconds) {
  if (seconds < 60) return `about ${seconds} seconds left`;
  return `about ${seconds / 60} minute${seconds > 60 ? "s" : ""} left`;
}

export class Left {
  constructor() {
    this.heard = []; // [milliseconds, bytes that have come over the line]
    this.said = null; // seconds
  }

  // came: bytes over the line so far; to: bytes that are still to come; now: milliseconds. -> words, or "".
  after(came, to, now) {
    if (came < (this.heard.at(-1)?.[1] ?? 0)) this.heard = [];
    if (came !== this.heard.at(-1)?.[1]) this.heard.push([now, came]);
    // Of what is older than the window, the newest is where it begins.
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
