// The base of every explorable: its frame, its state, dragging, and the answers of a learner's function.

import { html, nothing, render as fill, svg } from "lit-html";

import { bytesOf, floats } from "../../_support/widgets/js/bytes.js";
import { ask } from "../../_support/widgets/js/kernel.js";
import { fromAddress, refusal, toAddress, usual } from "../../_support/widgets/js/state_table.js";
import { truce } from "../../_support/widgets/js/truce.js";
import { widget } from "../../_support/widgets/js/widget.js";

export { html, nothing, svg };

// The direction [right, down] of each arrow key.
const STEP = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function pointOf(event, node) {
  // The position of an event in the units of an SVG drawing or, for an HTML element, in shares of its width and height.
  const drawing = node.ownerSVGElement ?? (node instanceof SVGSVGElement ? node : null);
  if (drawing) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    return { x, y };
  }
  const box = node.getBoundingClientRect();
  return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
}

export function drag(at, move) {
  // -> a handler of pointerdown: until the pointer is up, it calls `move` with the point to which `at`, {x, y}, has
  // been dragged or, without `at`, with the point under the pointer; at the end it calls move(null, true).
  return (event) => {
    if (event.button) return;
    const node = event.currentTarget;
    const from = pointOf(event, node);
    const [dx, dy] = at ? [at.x - from.x, at.y - from.y] : [0, 0];
    const moved = (next) => {
      const point = pointOf(next, node);
      move({ x: point.x + dx, y: point.y + dy }, false);
    };
    const ended = (next) => {
      node.removeEventListener("pointermove", moved);
      for (const name of ["pointerup", "pointercancel"]) node.removeEventListener(name, ended);
      if (next.type === "pointerup") moved(next);
      move(null, true);
    };
    node.setPointerCapture(event.pointerId);
    node.addEventListener("pointermove", moved);
    for (const name of ["pointerup", "pointercancel"]) node.addEventListener(name, ended);
    node.focus?.({ preventScroll: true });
    event.preventDefault();
    if (!at) moved(event);
  };
}

export function keys(step) {
  // -> a handler of keydown that calls `step(right, down)` for arrow keys, with ten times the distance with Shift.
  return (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !STEP[event.key]) return;
    step(...STEP[event.key].map((one) => one * (event.shiftKey ? 10 : 1)));
    event.preventDefault();
    event.stopPropagation();
  };
}

// Keeps a finger from scrolling the page, as Chromium ignores touch-action within an SVG.
const HELD = { handleEvent: (event) => event.preventDefault(), passive: false };

export function handle({ label, text, now, least, most, at, move, step, scrolls = false }, body) {
  // A part of a drawing that can be dragged, and moved with the arrow keys. text: its value for screen readers;
  // scrolls: whether a finger on it may scroll the page, as far as the drawing's own touch-action allows.
  return svg`<g class="play-handle" tabindex="0" role="slider" aria-label=${label} aria-valuetext=${text} aria-valuenow=${now}
    aria-valuemin=${least} aria-valuemax=${most} @pointerdown=${drag(at, move)} @keydown=${keys(step)} @touchstart=${scrolls ? null : HELD}>${body}</g>`;
}

export function strip(name, title, labels, value, set) {
  // Choices side by side; `labels` by value. `name` must be unique on the page, as it groups the radio buttons.
  return html`<div class="vit-strip" role="radiogroup" aria-label=${title}>
    ${Object.entries(labels).map(([one, label]) => html`<label class="play-choice"
      ><input type="radio" name=${name} .checked=${String(value) === one} @change=${() => set(one)} /><span>${label}</span></label>`)}
  </div>`;
}

export function picture(pixels, [height, width]) {
  // (H, W, 3), bytes -> the data URL of a picture
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const data = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) data.data.set([...pixels.subarray(3 * i, 3 * i + 3), 255], 4 * i);
  canvas.getContext("2d").putImageData(data, 0, 0);
  return canvas.toDataURL();
}

export function cropped(said) {
  // A line that says which part of a photograph is used, if not all of it.
  return said ? html`<p class="play-whose">${said}</p>` : nothing;
}

export function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}\u00a0%`; // the number and its sign stay on one line
}

function opened(model) {
  // -> the facts, with the arrays that `Sections.floats` and `Sections.bytes` of encoding.py have written, and file
  // URLs.
  const { sections = [], ...facts } = model.get("_facts");
  const data = bytesOf(model.get("_data"));
  for (const { name, at, bytes, coding, media } of sections) {
    const part = data.subarray(at, at + bytes);
    facts[name] = coding === "f4" ? floats(part) : coding === "u1" ? part : URL.createObjectURL(new Blob([part], { type: media }));
  }
  return facts;
}

class Play {
  // One explorable on the page, with a state of its own.
  constructor(name, table, kind, model, el) {
    Object.assign(this, { name, table, kind, model, id: `play-${Math.random().toString(36).slice(2)}`, reached: new Set(), waiting: 0, held: false });
    this.facts = opened(model);
    this.state = { ...usual(table), ...model.get("state") };
    this.live = typeof model.send === "function";
    this.refused = this.live ? "" : this.fromAddress();
    this.answered = null; // the last answer of the learner's function
    this.root = document.createElement("div");
    Object.assign(this.root, { className: "vit-explorer vit-play" });
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", kind.title);
    this.root.dataset.name = name;
    this.root.play = this; // for tests, and for inspection in the console
    el.append(this.root);
    this.things = kind.open ? kind.open(this.facts, () => ((this.last = null), this.schedule())) : this.facts;
    this.changed = () => this.take(model.get("state"));
    model.on("change:state", this.changed);
    this.ends = [truce(this.root)];
    this.draw();
  }

  fromAddress() {
    // Takes the state from the address; -> a sentence about the first invalid value, or "".
    let refused = "";
    const [name, query] = location.hash.slice(1).split("?");
    for (const [part, value] of name === this.name ? fromAddress(this.table, query) : []) {
      const words = refusal(this.table, part, value, this.facts.counts ?? {});
      if (!words) this.state[part] = value;
      refused ||= words;
    }
    return refused && `The address of this page asks for something that cannot be shown: ${refused}.`;
  }

  take(state) {
    this.state = { ...this.state, ...state };
    this.schedule();
  }

  set(values, lasts = true) {
    // lasts: whether to save the state in the model, for Python, or in the page's address. Draws nothing if the values
    // are unchanged, such as for a pointer that moves within one patch.
    const before = JSON.stringify(this.state);
    Object.assign(this.state, values);
    if (lasts) this.keep();
    if (lasts || this.refused || JSON.stringify(this.state) !== before) this.schedule();
    this.refused = "";
  }

  keep() {
    this.model.set("state", structuredClone(this.state));
    this.model.save_changes();
    if (this.live) return;
    const query = toAddress(this.table, this.state, usual(this.table));
    history.replaceState(history.state, "", `#${this.name}${query && `?${query}`}`);
  }

  moving(values) {
    // -> a function for `drag`; values(point): the parts of the state for a point. The state is saved, and goals are
    // checked, only at the end of the drag, so that passing over a solution does not count.
    return (point, over) => {
      this.held = !over;
      this.set(over ? {} : values(point), over);
    };
  }

  ask() {
    // Asks the learner's function for the present state, one question at a time: the next one waits for the answer.
    const question = JSON.stringify(this.state);
    if (!this.live || !this.facts.asks || this.open || this.answered?.question === question) return;
    this.open = question;
    ask(this.model, { state: this.state }).then((answer) => {
      this.answered = { question, ...answer };
      this.open = null;
      this.schedule();
    });
  }

  whose() {
    if (!this.facts.asks) return "";
    if (!this.live) return `Your ${this.facts.asks} cannot run without a kernel: this page computes with its own.`;
    if (this.answered?.error) return `Your ${this.facts.asks} did not answer, so the page computes with its own: ${this.answered.error}`;
    return `Computed by your ${this.facts.asks}.`;
  }

  schedule() {
    if (this.ended) return;
    this.root.dataset.drawn = "false";
    this.waiting ||= requestAnimationFrame(() => this.draw());
  }

  compute(theirs) {
    // Cached while the state, the learner's answer and the things of `open` stay the same.
    const asked = JSON.stringify(this.state);
    if (this.last?.asked !== asked || this.last.theirs !== theirs) this.last = { asked, theirs, answer: this.kind.compute(this.state, this.things, theirs) };
    return this.last.answer;
  }

  draw() {
    this.waiting = 0;
    this.ask();
    const { kind, state, things } = this;
    const theirs = this.answered && !this.answered.error ? this.answered.values : null;
    const answer = this.compute(theirs);
    this.answer = answer;
    if (!this.held) kind.goals.forEach(({ reached }, index) => reached(state, answer, things) && this.reached.add(index));
    fill(this.frame(answer), this.root);
    kind.paint?.(this.root, state, answer, things);
    const settled = !this.facts.asks || !this.live || this.answered?.question === JSON.stringify(state);
    Object.assign(this.root.dataset, { ready: "true", drawn: String(!this.waiting && settled), reached: [...this.reached].sort().join(" ") });
  }

  frame(answer) {
    const { kind, state, things } = this;
    const goal = ({ text }, index) => {
      const done = this.reached.has(index);
      return html`<li class=${done ? "play-done" : ""}><span aria-hidden="true">${done ? "\u2713" : "\u25cb"}</span> ${text} <b style=${done ? "" : "visibility: hidden"}>Reached.</b></li>`;
    };
    return html`<p class="play-title">${kind.title}</p>
      <p class="vit-hint">${kind.hint}</p>
      <ul class="play-goals" aria-label="Goals">${kind.goals.map(goal)}</ul>
      <div class="play-body">${kind.view(state, answer, things, this)}</div>
      <p class="vit-words play-words" aria-live="polite" aria-atomic="true">${kind.words(state, answer, things)}</p>
      ${this.refused ? html`<p class="vit-failed" role="alert">${this.refused}</p>` : nothing}
      ${this.facts.asks ? html`<p class="play-whose">${this.whose()}</p>` : nothing}
      <div class="play-foot"><button type="button" @click=${() => this.set(usual(this.table))}>Start again</button></div>`;
  }

  end() {
    this.ended = true;
    cancelAnimationFrame(this.waiting);
    this.model.off("change:state", this.changed);
    this.kind.close?.(this.things);
    for (const end of this.ends) end();
  }
}

export function explorable(name, table, kind) {
  // Draws the explorable in all its places in a page. -> the object that anywidget takes.
  //
  // kind: title, hint; goals, a list of { text, reached(state, answer, things) }; compute(state, things, theirs) ->
  // answer, where theirs is the answer of the learner's function, or null; words(state, answer, things), a sentence or
  // two; view(state, answer, things, play), a template; and optionally open(facts, redraw) -> things, which calls
  // redraw() when they change; paint(root, state, answer, things) for canvases; close(things).
  return widget(name, ({ model, el }) => {
    const play = new Play(name, table, kind, model, el);
    return () => play.end();
  });
}
