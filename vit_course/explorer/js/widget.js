// The explorer in a notebook, for anywidget.

import { render as explorer } from "./explorer.js";

function hideStill(el) {
  // The picture for pages where nothing is live, and the words below it, stand in the outputs before this one. -> a
  // function that brings them back.
  if (el.closest(".widget-box")) return () => {}; // inside another widget there are none
  const hidden = [];
  let before = el.closest(".jp-OutputArea-child")?.previousElementSibling;
  for (const sign of [".vit-explorer-again", "img"]) {
    if (!before?.querySelector(sign)) continue;
    hidden.push(before);
    before = before.previousElementSibling;
  }
  for (const node of hidden) node.style.display = "none";
  return () => hidden.forEach((node) => (node.style.display = ""));
}

function bringIntoView(el) {
  // After Shift+Enter JupyterLab shows the next cell, and what was asked for ends up above the window.
  const cell = el.closest(".jp-Cell");
  const active = [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
  const top = cell?.closest(".jp-WindowedPanel-outer")?.getBoundingClientRect().top;
  if (active && el.getBoundingClientRect().top < top) el.scrollIntoView({ block: "start" });
}

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
