// The story: one photograph through a Vision Transformer, in scenes that scrolling, keys and buttons move through.

import { widget } from "../../_support/widgets/js/widget.js";
import { Own } from "./story/own.js";
import { said } from "./story/said.js";
import { SCENES } from "./story/scenes.js";
import { Stage } from "./story/stage.js";
import { HEADS, storedValues } from "./story/values.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const FAST = 1.4; // scenes a second, at most, that the squares fly through
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const LAYER_SCENE = 7, HEAD_SCENE = 9, REST = 0.24; // the scene of the layers; the share of a step's height, at either end, for the flight

class Story {
  at = 0; // the scene that is drawn; a fraction while squares fly
  scene = 0; // the scene that the texts have arrived at
  shuffle = 1; // the number of an order, 0 for none
  layer = 0;
  removed = null;
  values = {};

  constructor(root, values) {
    this.root = root;
    this.steps = [...root.querySelectorAll(".story-step")];
    this.stage = new Stage(root.querySelector(".story-canvas"), this);
    this.line = root.querySelector(".story-said");
    this.nodes = Object.fromEntries([...root.querySelectorAll("[data-does]")].map((node) => [node.dataset.does, node]));
    this.take(values);
    this.listen();
    this.resized();
    if (!STILL.matches && this.target < 0.05) Object.assign(this.stage, { ripple: 0 });
    this.schedule();
    setTimeout(() => this.stage.prepare(), 2500);
  }

  // Shows other values: those of another photograph.
  take(values) {
    const { query, map } = values;
    Object.assign(this, { values, asked: query ?? 0, map: map ? map.layer * HEADS + map.head : 0, removed: null, arrived: false });
    this.root.classList.toggle("story-own", Boolean(values.own));
    for (const node of this.root.querySelectorAll("[data-own]")) {
      node.dataset.ours ??= node.textContent;
      node.textContent = values.own ? node.dataset.own : node.dataset.ours;
    }
    this.stage.size && this.schedule();
  }

  set(values) {
    if (values.removed !== undefined && values.removed !== null) this.asks?.(values.removed);
    Object.assign(this, values);
    this.schedule();
  }

  listen() {
    const { canvas } = this.stage, { back, next, layer, shuffle, order } = this.nodes;
    addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(canvas);
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"])
      matchMedia(query).addEventListener("change", () => this.resized());
    back.addEventListener("click", () => this.go(this.scene - 1));
    next.addEventListener("click", () => this.go(this.scene + 1));
    this.nodes.begin.addEventListener("click", () => this.go(1));
    layer.addEventListener("input", () => this.set({ layer: Number(layer.value), held: this.scene }));
    shuffle.addEventListener("click", () => this.set({ shuffle: (this.shuffle % 5) + 1 }));
    order.addEventListener("click", () => this.set({ shuffle: 0 }));
    document.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("pointermove", (event) => (event.pointerType === "mouse" || event.buttons) && this.pointed(event, event.buttons > 0));
    canvas.addEventListener("pointerdown", (event) => event.button || this.pointed(event, true));
    canvas.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && this.scene === 5 && this.set({ asked: this.values.query }));
    canvas.addEventListener("click", (event) => {
      const press = SCENES[this.scene].press, found = press && this.under(event);
      if (found) this.set(press(this, found.map));
    });
    const print = () => this.print();
    addEventListener("beforeprint", print);
    matchMedia("print").addEventListener("change", ({ matches }) => matches && print());
  }

  under({ clientX, clientY }) {
    const { left, top, width, height } = this.stage.canvas.getBoundingClientRect();
    return SCENES[this.scene].point?.(this, (clientX - left) / width, (clientY - top) / height);
  }

  pointed(event, pressed) {
    if (this.values.waits || (this.scene === LAYER_SCENE && !pressed)) return;
    const found = this.under(event);
    if (found) this.set({ ...found, held: this.scene });
  }

  key(event) {
    const arrow = ARROWS[event.key], { canvas } = this.stage;
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const { move, press } = SCENES[this.scene];
    if (event.target === canvas && move && arrow && !this.values.waits) this.set({ ...move(this, ...arrow), held: this.scene });
    else if (event.target === canvas && press && ["Enter", " "].includes(event.key)) this.set(press(this, this.map));
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && this.shown) this.go(this.scene + (event.key === "ArrowRight" ? 1 : -1), true);
    else return;
    event.preventDefault();
  }

  // Scrolls to a step; the squares follow. With `focus`, the next Tab leads into the step.
  go(scene, focus = false) {
    const step = this.steps[Math.max(0, Math.min(this.steps.length - 1, scene))], { top, height } = step.getBoundingClientRect();
    const to = this.beside ? top + Math.min(height, innerHeight) / 2 - this.eye : top - this.below;
    scrollTo({ top: Math.max(0, scrollY + to), behavior: STILL.matches ? "instant" : "smooth" });
    if (focus) step.focus({ preventScroll: true });
  }

  // Whether the texts stand beside the picture, or below it; in that case where they begin.
  get beside() {
    return matchMedia("(min-width: 860px)").matches;
  }
  get below() {
    return this.root.querySelector(".story-stage").getBoundingClientRect().height;
  }

  // Whether the steps are what one reads, and not what stands below them.
  get shown() {
    return this.root.getBoundingClientRect().bottom > this.eye;
  }

  // The height of the window at which a step counts as read.
  get eye() {
    return this.beside ? innerHeight / 2 : this.below + (innerHeight - this.below) * 0.55;
  }

  // Where scrolling has come to: a scene, or on the way from one to the next.
  get target() {
    const { eye } = this;
    const found = this.steps.findLastIndex((step) => step.getBoundingClientRect().top <= eye);
    if (found < 0) return 0;
    const { top, height } = this.steps[found].getBoundingClientRect(), part = Math.min(1, (eye - top) / height);
    this.part = part;
    if (STILL.matches) return found;
    const before = found ? Math.min(0, (part - REST) / (2 * REST)) : 0;
    const after = found < this.steps.length - 1 ? Math.max(0, (part - 1 + REST) / (2 * REST)) : 0;
    return found + before + after;
  }

  resized() {
    this.stage.measure();
    this.schedule();
  }

  schedule() {
    this.root.dataset.drawn = "false";
    this.waiting ||= requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    const passed = Math.min(0.05, (now - (this.last ?? now)) / 1000);
    [this.waiting, this.last] = [0, now];
    const { target } = this, far = target - this.at, step = Math.min(Math.abs(far), passed * Math.max(FAST, 3 * Math.abs(far)));
    this.at = STILL.matches || Math.abs(far) < 0.002 ? target : this.at + Math.sign(far) * step;
    if (this.stage.ripple < 1) this.stage.ripple = Math.min(1, this.stage.ripple + passed / 1.8);
    this.arrive(Math.round(this.at));
    if (this.scene === LAYER_SCENE && this.held !== LAYER_SCENE && !STILL.matches) this.layer = this.scrolled();
    this.nodes.layer.value = this.layer;
    this.stage.draw(this.at);
    this.tell();
    const moves = this.at !== this.target || this.stage.ripple < 1;
    if (moves) this.schedule();
    else this.last = undefined;
    Object.assign(this.root.dataset, { drawn: String(!moves), scene: this.scene });
  }

  // The layer by how far its step is scrolled.
  scrolled() {
    return Math.max(0, Math.min(12, Math.round(((this.part - REST) / (1 - 2 * REST)) * 12)));
  }

  arrive(scene) {
    if (scene === this.scene && this.arrived) return;
    this.arrived = true;
    this.scene = scene;
    this.held = null;
    if (scene === LAYER_SCENE && STILL.matches) this.layer = 12;
    if (scene === HEAD_SCENE && this.removed === null) this.set({ removed: this.map });
    const { canvas } = this.stage;
    this.steps.forEach((step, i) => step.toggleAttribute("data-now", i === scene));
    canvas.setAttribute("aria-labelledby", `story-seen-${scene}`);
    const takes = Boolean(SCENES[scene].move);
    canvas.setAttribute("role", takes ? "application" : "img");
    canvas.tabIndex = takes ? 0 : -1;
    canvas.style.cursor = takes ? "pointer" : "default";
    this.nodes.back.disabled = scene === 0;
    this.nodes.next.disabled = scene === this.steps.length - 1;
    this.root.querySelector(".story-place").style.setProperty("--part", scene / (this.steps.length - 1));
    this.root.querySelector(".story-count").textContent = scene ? `${scene} of ${this.steps.length - 1}` : "";
  }

  tell() {
    const words = said(this.scene, this);
    if (this.line.textContent !== words) this.line.textContent = words;
  }

  // A picture of every scene below its text, which only paper shows.
  print() {
    this.steps.forEach((step, scene) => {
      let canvas = step.querySelector(".story-print");
      if (!canvas) canvas = step.querySelector(".story-words").appendChild(Object.assign(document.createElement("canvas"), { className: "story-print", width: 720, height: 720 }));
      const layer = this.layer;
      this.layer = 12;
      this.stage.draw(scene, { pen: canvas.getContext("2d"), size: 480, sharp: 1.5 });
      this.layer = layer;
    });
  }
}

export default widget("story", ({ model, el }) => {
  const root = document.querySelector(".story"), picture = root.querySelector(".story-picture");
  let story;
  picture.decode().then(() => storedValues(model, picture)).then((values) => {
    story = new Story(root, values);
    root.story = story; // for tests, and for inspection in the console
    root.dataset.ready = el.dataset.ready = "true";
    new Own(root, story, values);
  });
  return () => {};
});
