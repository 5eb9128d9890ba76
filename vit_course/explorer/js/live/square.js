// Lets the visitor move and resize the square that the model sees, on the whole photograph.

import { element } from "../../../_support/widgets/js/element.js";
import { paintCut, seenWords, sharesOf } from "../cut.js";
import { box, MIDDLE } from "./picture.js";

const REST = 350; // milliseconds without a change after which the model looks again
const ARROWS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };
const LEAST = { x: 0, y: 0, side: 50 };
const LABELS = { x: "Left to right", y: "Top to bottom", side: "Size" };
const within = (name, value) => Math.min(100, Math.max(LEAST[name], Math.round(value)));

export class Square {
  // moving(): called when the square changes, so that earlier questions are obsolete; rested(): called when it rests.
  constructor({ moving, rested }) {
    Object.assign(this, { moving, rested, value: MIDDLE });
    this.words = element("summary", {});
    this.canvas = element("canvas", {
      class: "vit-whole", tabindex: "0", role: "application", "aria-roledescription": "photograph with a square",
      "aria-label": "The whole photograph: arrow keys move the square that the model sees, plus and minus size it",
    });
    this.sliders = Object.fromEntries(Object.keys(LABELS).map((name) => [name, this.slider(name)]));
    this.back = element("button", { type: "button", text: "Back to the middle" });
    this.back.addEventListener("click", () => {
      this.words.focus(); // the button disappears
      this.set(MIDDLE);
    });
    this.node = element("details", { class: "vit-cut live-square" }, this.words, this.canvas,
      element("div", { class: "live-sliders" }, ...Object.values(this.sliders).map(({ node }) => node), this.back));
    this.listen();
  }

  slider(name) {
    const field = element("input", { type: "range", min: LEAST[name], max: 100 });
    field.addEventListener("input", () => this.set({ ...this.value, [name]: Number(field.value) }));
    return { field, node: element("label", {}, element("span", { text: LABELS[name] }), field) };
  }

  listen() {
    const { canvas, node } = this;
    // Keeps its keys from the explorer around it, which has shortcuts of its own.
    node.addEventListener("keydown", (event) => event.stopPropagation());
    canvas.addEventListener("keydown", (event) => {
      const [name, by] = ARROWS[event.key] ?? { "+": ["side", 1], "-": ["side", -1] }[event.key] ?? [];
      if (!name || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.set({ ...this.value, [name]: within(name, this.value[name] + by * (event.shiftKey ? 1 : 5)) });
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary || event.button || !this.whole) return;
      const [x, y] = this.pixel(event), { left, top, side } = this.box;
      const inside = x >= left && x <= left + side && y >= top && y <= top + side;
      this.held = { id: event.pointerId, x: inside ? x - left : side / 2, y: inside ? y - top : side / 2 };
      if (!inside) this.drag(event);
    });
    // On the window, as an answer during a drag moves the canvas into a new explorer.
    const held = (event) => event.pointerId === this.held?.id;
    window.addEventListener("pointermove", (event) => held(event) && this.drag(event));
    for (const kind of ["pointerup", "pointercancel"])
      window.addEventListener(kind, (event) => {
        if (!held(event)) return;
        this.held = null;
        this.set(this.value);
      });
  }

  // The position of an event in pixels of the photograph.
  pixel({ clientX, clientY }) {
    const { left, top, width } = this.canvas.getBoundingClientRect(), times = this.whole.width / width;
    return [(clientX - left) * times, (clientY - top) * times];
  }

  drag(event) {
    const [x, y] = this.pixel(event), { side } = this.box, { width, height } = this.whole;
    const at = (name, pixels, room) => (room < 1 ? this.value[name] : within(name, (100 * pixels) / room));
    this.set({ ...this.value, x: at("x", x - this.held.x, width - side), y: at("y", y - this.held.y, height - side) });
  }

  get box() {
    return box(this.whole.width, this.whole.height, this.value);
  }

  get chosen() {
    // null for the default: in the middle, and as large as possible.
    return Object.keys(MIDDLE).every((name) => this.value[name] === MIDDLE[name]) ? null : this.value;
  }

  // Changes the square by the visitor's input.
  set(value) {
    const changed = Object.keys(value).some((name) => value[name] !== this.value[name]);
    if (changed) this.touched = true;
    this.value = value;
    this.draw();
    clearTimeout(this.waits);
    if (!this.touched) return;
    this.moving();
    if (!this.held) this.waits = setTimeout(() => this.rest(), REST);
  }

  rest() {
    this.touched = false;
    this.rested();
  }

  // For another picture: back to the middle, or to the square in the address.
  reset(value = MIDDLE) {
    clearTimeout(this.waits);
    Object.assign(this, { value, held: null, touched: false, whole: null });
  }

  // whole: the whole photograph from the worker, {bytes, media, width, height}, the last two those of the file; null
  // for a camera frame.
  async show(whole = null) {
    Object.assign(this, { whole, picture: null });
    this.node.hidden = !whole;
    if (!whole) return;
    this.draw();
    const picture = await createImageBitmap(new Blob([whole.bytes], { type: whole.media }));
    if (this.whole !== whole) return;
    this.picture = picture;
    this.draw();
  }

  draw() {
    if (!this.whole) return;
    const { width, height } = this.whole, { left, top, side } = this.box, { value } = this;
    for (const [name, room] of [["x", width - side], ["y", height - side], ["side", 1]]) {
      const { node, field } = this.sliders[name];
      node.hidden = room < 1;
      field.value = value[name];
    }
    const kept = [side / height, side / width];
    const at = [top / height, left / width];
    this.words.textContent = `${seenWords({ kept, at: this.chosen && at })}. Move the square.`;
    this.back.hidden = !this.chosen;
    // In a direction in which the square cannot move, a swipe scrolls the page.
    this.canvas.style.touchAction = height - side < 1 ? "pan-y" : width - side < 1 ? "pan-x" : "none";
    if (this.picture) paintCut(this.canvas, this.picture, sharesOf({ kept, at }));
  }
}
