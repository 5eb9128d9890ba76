// The explorer in a notebook, for anywidget.

import { bringIntoView, hideStill } from "../../widgets/js/notebook.js";
import { render as explorer } from "./explorer.js";

function render({ model, el }) {
  const ends = [explorer({ model, el })];
  requestAnimationFrame(() => ends.push(hideStill(el)));
  const root = el.querySelector(".vit-explorer");
  const ready = new MutationObserver(() => root.dataset.ready && (ready.disconnect(), setTimeout(() => bringIntoView(el), 200)));
  ready.observe(root, { attributes: true });
  ends.push(() => ready.disconnect());
  return () => ends.forEach((end) => end());
}

export default { render };
