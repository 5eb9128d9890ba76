// The explorer in a notebook, for anywidget.

import { bringIntoView, hideStill } from "../../_support/widgets/js/notebook.js";
import { render as explorer } from "./explorer.js";
import { kernelLab } from "./lab.js";

function render({ model, el }) {
  const kernel = kernelLab(model);
  const ends = [explorer({ model, el, lab: (index) => (model.get("_panels")[index].asks ? kernel : null) })];
  requestAnimationFrame(() => ends.push(hideStill(el)));
  const root = el.querySelector(".vit-explorer");
  const ready = new MutationObserver(() => root.dataset.ready && (ready.disconnect(), setTimeout(() => bringIntoView(el), 200)));
  ready.observe(root, { attributes: true });
  ends.push(() => ready.disconnect());
  return () => ends.forEach((end) => end());
}

export default { render };
