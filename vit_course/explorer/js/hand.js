// A hand that moves over the picture once, by itself: from the patch that is looked from to the one it looks at most, and
// back. It shows what pointing does; whoever touches anything has seen it, and who wants no motion gets none.

import { element } from "../../_support/widgets/js/element.js";
import { tokenAt } from "./places.js";

const [REST, WAY] = [1500, 3200]; // milliseconds before it moves, and of its way
const ANYTHING = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"];

export class Hand {
  constructor(state, photo) {
    Object.assign(this, { state, photo });
    this.node = element("div", { class: "vit-hand", "aria-hidden": "true" });
    this.stop = () => this.end();
    this.seen = new IntersectionObserver(([entry]) => {
      clearTimeout(this.waiting);
      if (entry.intersectionRatio > 0.6) this.waiting = setTimeout(() => this.begin(), REST);
    }, { threshold: [0, 0.61] });
  }

  get wanted() {
    // Once for each page; each explorer of a notebook has modules of its own.
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    return !still && !window.vitHand && !["pinned", "tour"].some((name) => this.state.get(name));
  }

  draw([{ q, best }]) {
    if (this.begun || best < 0 || !this.wanted) return;
    this.begun = [q, best];
    for (const kind of ANYTHING) window.addEventListener(kind, this.stop, { capture: true, passive: true });
    this.seen.observe(this.photo.main);
  }

  begin() {
    if (!this.wanted) return this.end();
    window.vitHand = true;
    this.seen.disconnect();
    const { panel, main } = this.photo;
    const middle = (token) => {
      const [row, column] = panel.place(token) ?? [panel.rows / 2, panel.columns / 2];
      return [(column + 0.5) / panel.columns, (row + 0.5) / panel.rows];
    };
    const [[x0, y0], [x1, y1]] = this.begun.map(middle);
    const start = performance.now();
    main.append(this.node);
    this.state.moving = true;
    const step = (now) => {
      const part = Math.min(Math.max((now - start) / WAY, 0), 1), way = (1 - Math.cos(2 * Math.PI * part)) / 2;
      const [x, y] = [x0 + way * (x1 - x0), y0 + way * (y1 - y0)];
      Object.assign(this.node.style, { left: `${100 * x}%`, top: `${100 * y}%` });
      this.state.hover(panel, tokenAt(panel, x, y));
      if (part < 1) this.frame = requestAnimationFrame(step);
      else this.end();
    };
    this.frame = requestAnimationFrame(step);
  }

  end() {
    clearTimeout(this.waiting);
    cancelAnimationFrame(this.frame);
    this.seen.disconnect();
    for (const kind of ANYTHING) window.removeEventListener(kind, this.stop, { capture: true });
    this.node.remove();
    if (this.state.moving) this.state.leave();
    this.state.moving = false;
  }
}
