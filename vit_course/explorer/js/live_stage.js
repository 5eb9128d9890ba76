// Where the explorer stands: the picture alone until there is something to point at, then what the model computed.

import { render } from "./explorer.js";
import { Panel } from "./data.js";
import { fits, replace } from "./frames.js";
import { encode } from "./link.js";
import { PageModel } from "../../_support/widgets/js/model.js";
import { NAMES, USUAL } from "./state.js";

// What a visitor has set stays from picture to picture, but for the places of tokens.
const KEPT = NAMES.filter((name) => !["query", "key", "pinned"].includes(name));

// How an explorer opens; where it looks is chosen from each picture's own maps.
const AS_USUAL = { ...USUAL, layer: null, head: null, query: null };

export class Stage {
  constructor(node) {
    this.node = node;
    this.place = node.querySelector(".live-explorer");
    this.picture = node.querySelector(".live-picture");
    this.model = null; // the name of the one whose answer is shown
    this.touched = false;
    this.linked = location.hash; // of the address that the visitor came with, until the model that it means is shown
    for (const kind of ["pointerdown", "keydown"])
      this.place.addEventListener(kind, () => (this.touched = true), { capture: true, passive: true });
  }

  // A picture that nothing has been computed of yet; null where it will not be.
  waiting(picture) {
    this.node.classList.toggle("live-busy", picture !== null);
    if (!picture || this.model) return;
    this.picture.src = typeof picture.source === "string" ? picture.source : URL.createObjectURL(picture.source);
  }

  // wanted: whether it is the model that the visitor wants, and not the one that fills in for it; own: whether the picture
  // is the visitor's, which no link can hold; more: what of the page stands in the explorer (`cut`, `tools`). -> the part
  // of the address after "#".
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
    // By this name the explorer knows that the address is its own.
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

  // What a browser short of memory cannot show is noticed before what is shown goes. -> a sentence, or "".
  async cannot(panel, data) {
    try {
      panel.bitmap ??= await new Panel(panel, data).decodePicture();
      return "";
    } catch (error) {
      return `What was computed cannot be shown: the browser has too little memory (${error.message}).`;
    }
  }

  // A frame of a camera, into the explorer as it stands; false where it takes another one.
  async follow(panel, data, model) {
    const { state } = this.end ?? {};
    if (model !== this.model || !state.root.dataset.ready || state.tests.compared || !fits(state.first, panel)) return false;
    this.shown.own = true;
    this.node.classList.remove("live-busy");
    await replace(state, panel, data);
    return true;
  }

  // Once the explorer can follow.
  async opened() {
    while (!this.end.state.root.dataset.ready) await new Promise(requestAnimationFrame);
  }
}
