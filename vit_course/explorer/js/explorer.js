// The attention explorer: draws in the browser, from queries and keys that were sent once, without libraries or
// requests.

import { afterwards } from "./background.js";
import { Chips } from "./chips.js";
import { Compared } from "./compared.js";
import { Fixed, remembered, Smooth, Strip } from "./controls.js";
import { describePanels, openPanels } from "./data.js";
import { element } from "../../_support/widgets/js/element.js";
import { Grid } from "./grid.js";
import { Hand } from "./hand.js";
import { HELP, listen } from "./keys.js";
import { Bench, Tests } from "./lab.js";
import { Legend } from "./legend.js";
import { mend } from "./lost.js";
import { ABOVE, BELOW, BESIDE, LAB, LAST } from "./parts.js";
import { Photo } from "./photo.js";
import { State } from "./state.js";
import { describe, lead, opening } from "./words.js";

const HINTS = {
  mouse: "Point anywhere on the picture. Click to pin the patch, Escape to unpin it.",
  touch: "Tap a patch to look from there; tap it again to unpin it. Hold and drag to move over the picture.",
};

function help() {
  const lines = HELP.flatMap(([keys, text]) => [element("dt", { text: keys }), element("dd", { text })]);
  return element("details", { class: "vit-help" }, element("summary", { text: "Keys" }), element("dl", {}, ...lines));
}

let unfolded = false; // kept while the page is open, also when another picture is shown

function drawing(...nodes) {
  const node = element("details", { class: "vit-drawing" }, element("summary", { text: "How it is drawn" }), ...nodes);
  node.open = unfolded;
  node.addEventListener("toggle", () => (unfolded = node.open));
  return node;
}

class More {
  // The parts for advanced use, in a <details> that is closed at first.
  constructor(state, nodes) {
    this.state = state;
    this.node = element("details", { class: "vit-more" }, element("summary", { text: "More: why there, and what you can save" }),
      element("div", { class: "vit-more-body" }, ...nodes));
    remembered(this.node, state, "details");
  }

  draw() {
    if (this.node.open !== this.state.get("details")) this.node.open = this.state.get("details");
  }
}

function build(state, id) {
  // -> the explorer's DOM nodes, and the functions that draw in them.
  const photos = state.panels.map((panel) => new Photo(state, panel));
  const chips = state.panels.map((panel) => new Chips(state, panel));
  const grid = new Grid(state, id);
  const strip = (name) => new Strip(state, name, id);
  const [view, direction, overlay, scale] = ["view", "direction", "overlay", "scale"].map(strip);
  const [smooth, fixed] = [new Smooth(state, id), new Fixed(state, id)];
  const legend = new Legend(state, fixed);
  const made = (list) => list.map((Part) => new Part(state)).filter((part) => part.node);
  const [above, beside, below, lab, last] = [ABOVE, BESIDE, BELOW, LAB, LAST].map(made);
  const parts = [...above, ...beside, ...below, ...lab, ...last];
  const words = element("p", { class: "vit-words", "aria-live": "polite", "aria-atomic": "true" });
  photos.forEach((photo, index) => photo.node.append(chips[index].node));
  const touch = window.matchMedia("(hover: none)").matches;
  const leading = element("p", { class: "vit-lead" });
  const hint = element("p", { class: "vit-hint", text: touch ? HINTS.touch : HINTS.mouse });
  const why = element("p", { class: "vit-hint" });
  const hand = new Hand(state, photos[0]);
  const nodes = (...list) => list.map(({ node }) => node);
  const more = new More(state, [
    element("div", { class: "vit-below" }, ...nodes(...below)),
    element("div", { class: "vit-side" }, ...nodes(...beside)),
    element("div", { class: "vit-last" }, ...nodes(...last)),
    help(),
  ]);
  const body = element("div", { class: `vit-body${photos.length > 1 ? " vit-several" : ""}` },
    element("div", { class: "vit-photos" }, ...nodes(...photos)),
    element("div", { class: "vit-reading" }, leading, words, hint, ...above.map((part) => part.offer), why, legend.node,
      drawing(legend.scaled, element("div", { class: "vit-scales" }, ...nodes(scale, smooth)), fixed.node)),
    element("div", { class: "vit-top" }, ...nodes(view, direction, overlay)),
    grid.node,
    ...nodes(...lab),
    more.node,
  );
  // What the eye follows: the photographs, the sentences and the weight of the class token.
  const drawFollowed = (shown) => {
    photos.forEach((photo, index) => photo.draw(shown[index]));
    chips.forEach((chip, index) => chip.draw(shown[index]));
    words.setAttribute("aria-live", state.moving || state.follows ? "off" : "polite");
    const said = [lead(shown, state.get("overlay")), describe(shown, state.get("view"), state.get("pinned"))];
    [leading, words].forEach((node, i) => node.textContent !== said[i] && (node.textContent = said[i]));
  };
  const drawRest = (shown) => {
    grid.draw(shown);
    const opened = opening(state.first);
    why.hidden = !opened;
    if (why.textContent !== opened) why.textContent = opened;
    const hinted = state.tests.hint(state.panels[state.pointed], touch) || (touch ? HINTS.touch : HINTS.mouse);
    if (hint.textContent !== hinted) hint.textContent = hinted;
    for (const part of [legend, view, direction, overlay, scale, smooth, fixed, more, hand, ...parts]) part.draw(shown);
  };
  const mended = mend(body, [...photos.map(({ canvas }) => canvas), grid.picture.canvas, legend.bar], () => {
    for (const photo of photos) photo.layers = null;
    grid.picture.maps = legend.kind = null;
    state.schedule();
  });
  const end = () => (mended(), [...photos, grid, hand, ...parts].forEach((part) => part.end?.()));
  return { nodes: [...nodes(...above), body], drawFollowed, drawRest, end, grid };
}

function uniqueId() {
  // Random, not counted: each widget of a notebook loads this module anew, so that counts would collide, and radio
  // buttons of different explorers with the same name would form one group.
  return `vit-${Math.random().toString(36).slice(2)}`;
}

// lab(index): what computes changes of the model of a panel (lab.js), or null.
// -> a function that ends the explorer, with its present State as the property `state`.
export function render({ model, el, lab = () => null }) {
  const root = element("div", { class: "vit-explorer", role: "group", "aria-label": "Attention explorer" });
  const benches = model.get("_panels").map((_, index) => new Bench(index, lab(index)));
  el.append(root);
  let end = mount(root, model, benches);
  // Shows the changed model beside the unchanged one; with bench null, the unchanged one alone again. first: whether
  // the comparison has just been opened or closed, so that it scrolls into view.
  benches.compare = (bench, first = !bench) => {
    const { kept } = document.activeElement?.dataset ?? {};
    end();
    root.replaceChildren();
    end = bench ? mount(root, new Compared(model, bench), [bench, new Bench(-1, null)], benches) : mount(root, model, benches);
    root.querySelector(`[data-kept="${kept}"]`)?.focus({ preventScroll: true });
    if (first) root.scrollIntoView({ block: "nearest" });
  };
  return Object.defineProperty(() => end(), "state", { get: () => end.state });
}

function mount(root, model, benches, all = benches) {
  const panels = describePanels(model);
  const state = new State(model, panels);
  panels.forEach((panel, i) => benches[i].sit(panel, () => state.schedule()));
  Object.assign(state, { root, tests: new Tests(benches, all !== benches, (...given) => all.compare(...given)) });
  const { nodes, drawFollowed, drawRest, end, grid } = build(state, uniqueId());
  root.append(...nodes);
  const ends = [listen(root, state, grid), state.follow(), end];
  openPanels(model, panels).then(
    () => {
      for (const panel of panels) panel.changed = () => state.schedule();
      // What follows the pointer is drawn in the frame of the move, all else, such as the small maps, after it.
      const followed = (shown) => {
        drawFollowed(shown);
        root.dataset.drawn = "followed";
      };
      const rest = afterwards((shown) => {
        drawRest(shown);
        root.dataset.query = state.query;
        root.dataset.ready = "true";
        root.dataset.drawn = String(!state.waiting);
      });
      ends.push(state.subscribe(followed), state.subscribe(rest), rest.end);
      state.schedule();
    },
    (error) => root.append(element("p", { class: "vit-failed", role: "alert", text: `This explorer cannot be shown: ${error.message}` })),
  );
  return Object.assign(() => ends.forEach((one) => one()), { state });
}
