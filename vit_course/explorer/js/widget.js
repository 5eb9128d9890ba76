// The explorer in a notebook, for anywidget.

import { render as explorer } from "./explorer.js";

function hidePicture(el) {
  // The picture for pages where nothing is live stands in the output before this one. -> a function that brings it back.
  if (el.closest(".widget-box")) return () => {}; // inside another widget there is none
  const before = el.closest(".jp-OutputArea-child")?.previousElementSibling;
  if (!before?.querySelector("img")) return () => {};
  before.style.display = "none";
  return () => (before.style.display = "");
}

function render({ model, el }) {
  const ends = [explorer({ model, el })];
  requestAnimationFrame(() => ends.push(hidePicture(el)));
  return () => ends.forEach((end) => end());
}

export default { render };
