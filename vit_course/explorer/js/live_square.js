// The square of a photograph that the model sees: the visitor moves it, and makes it smaller, on the whole photograph.

import { element } from "../../_support/widgets/js/element.js";
import { paintCut, seenWords, sharesOf } from "./cut.js";
import { box, MIDDLE } from "./live_picture.js";

const REST = 350; // milliseconds after which a hand rests
const ARROWS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };
const LEAST = { x: 0, y: 0, side: 50 };
const LABELS = { x: "Left to right", y: "Top to bottom", side: "Size" };
const within = (name, value) => Math.min(100, Math.max(LEAST[name], Math.round(value)));

export class Square {
  // moving(): a hand has begun, and what was asked before is of no use; rested(): the model is to look again.
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
      this.words.focus(); // the button goes
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
    // The explorer, in which it stands, has keys of its own.
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
    // Not the canvas: an answer that comes now puts it into another explorer.
    const held = (event) => event.pointerId === this.held?.id;
    window.addEventListener("pointermove", (event) => held(event) && this.drag(event));
    for (const kind of ["pointerup", "pointercancel"])
      window.addEventListener(kind, (event) => {
        if (!held(event)) return;
        this.held = null;
        this.set(this.value);
      });
  }

  // Where in the photograph an event is.
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
    // null where it is the middle, as large as it can be.
    return Object.keys(MIDDLE).every((name) => this.value[name] === MIDDLE[name]) ? null : this.value;
  }

  // By the visitor's hand.
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

  // Another picture: the middle again, or what the address says.
  reset(value = MIDDLE) {
    clearTimeout(this.waits);
    Object.assign(this, { value, held: null, touched: false, whole: null });
  }

  // The whole photograph, as the worker read it: {bytes, media, width, height}, the last two of the file; of a frame of a
  // camera there is none.
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
    // What cannot move that way scrolls the page.
    this.canvas.style.touchAction = height - side < 1 ? "pan-y" : width - side < 1 ? "pan-x" : "none";
    if (this.picture) paintCut(this.canvas, this.picture, sharesOf({ kept, at }));
  }
}
