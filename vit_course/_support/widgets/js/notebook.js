// A widget in a notebook, among the outputs and the cells.

export function hideStill(el) {
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

export function bringIntoView(el) {
  // After Shift+Enter JupyterLab shows the next cell, and what was asked for ends up above the window.
  const cell = el.closest(".jp-Cell");
  const active = [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
  const top = cell?.closest(".jp-WindowedPanel-outer")?.getBoundingClientRect().top;
  if (active && el.getBoundingClientRect().top < top) el.scrollIntoView({ block: "start" });
}
