// The place of the explorer in the live page: shows only the picture until there is an answer, then the explorer.

import { render } from "../explorer.js";
import { Panel } from "../data.js";
import { fits, replace } from "../frames.js";
import { encode } from "../link.js";
import { PageModel } from "../../../_support/widgets/js/model.js";
import { NAMES, USUAL } from "../state.js";

// The parts of the state that are kept from picture to picture: all except tokens.
const KEPT = NAMES.filter((name) => !["query", "key", "pinned"].includes(name));

// The defaults of an explorer; with null, layer, head and query are chosen from each picture's own maps.
const AS_USUAL = { ...USUAL, layer: null, head: null, query: null };

export class Stage {
  constructor(node) {
    this.node = node;
    this.place = node.querySelector(".live-explorer");
    this.picture = node.querySelector(".live-picture");
    this.model = null; // the name of the model whose answer is shown
    this.touched = false;
    this.linked = location.hash; // the hash of the first address, until the model that it belongs to is shown
    for (const kind of ["pointerdown", "keydown"])
      this.place.addEventListener(kind, () => (this.touched = true), { capture: true, passive: true });
  }

  // Shows a picture for which nothing is computed yet; null if nothing will be.
  waiting(picture) {
    this.node.classList.toggle("live-busy", picture !== null);
    if (!picture || this.model) return;
    this.picture.src = typeof picture.source === "string" ? picture.source : URL.createObjectURL(picture.source);
  }

  // Shows an answer in a new explorer. wanted: whether it is from the model that the visitor has chosen, not from the
  // one that fills in for it; own: whether the picture is the visitor's, which a link cannot contain; more: elements of
  // the page within the explorer (`cut`, `tools`). -> the part of the address after "#".
  show(panel, data, { model, wanted, own, ...more }) {
    const usual = { ...AS_USUAL }, values = { ...usual };
    const kept = this.model === model ? KEPT : KEPT.filter((name) => !["layer", "head"].includes(name));
    for (const name of this.shown ? kept : [])
      if (this.shown.get(name) !== this.shown.usual[name]) values[name] = this.shown.get(name);
    const chosen = encode(values, usual), hash = this.linked || (chosen && `#${chosen}`);
    if (wanted) this.linked = "";
    const { activeElement } = document; // which may be moved from one explorer to the next
    this.end?.();
    this.place.replaceChildren();
    // This class tells the explorer that it may use the address (link.js).
    this.place.classList.toggle("vit-explorer-place", wanted);
    this.shown = Object.assign(new PageModel({ ...values, _panels: [panel], _data: data }), { usual, own, ...more });
    this.end = render({ model: this.shown, el: this.place, lab: () => this.lab?.(panel.tokens) ?? null });
    activeElement?.focus({ preventScroll: true });
    this.model = model;
    this.touched = false;
    this.picture.hidden = true;
    this.node.classList.remove("live-busy");
    return hash;
  }

  // Decodes the picture before the shown explorer is removed, as it fails if memory is short. -> a sentence, or "".
  async cannot(panel, data) {
    try {
      panel.bitmap ??= await new Panel(panel, data).decodePicture();
      return "";
    } catch (error) {
      return `What was computed cannot be shown: the browser has too little memory (${error.message}).`;
    }
  }

  // Shows a camera frame in the open explorer. -> false if that needs a new explorer.
  async follow(panel, data, model) {
    const { state } = this.end ?? {};
    if (model !== this.model || !state.root.dataset.ready || state.tests.compared || !fits(state.first, panel)) return false;
    this.shown.own = true;
    this.node.classList.remove("live-busy");
    await replace(state, panel, data);
    return true;
  }

  // Waits until the explorer is ready for the next frame.
  async opened() {
    while (!this.end.state.root.dataset.ready) await new Promise(requestAnimationFrame);
  }
}
