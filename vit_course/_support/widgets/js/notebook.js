// How a widget in a notebook handles the outputs and cells around it.

export function hideStill(el) {
  // Hides the still picture and the sentence below it, which are the outputs before this one. -> a function that shows
  // them again.
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
  // After Shift+Enter JupyterLab scrolls to the next cell, which can leave the widget above the window.
  const cell = el.closest(".jp-Cell");
  const active = [cell, cell?.nextElementSibling].some((one) => one?.classList.contains("jp-mod-active"));
  const top = cell?.closest(".jp-WindowedPanel-outer")?.getBoundingClientRect().top;
  if (active && el.getBoundingClientRect().top < top) el.scrollIntoView({ block: "start" });
}
