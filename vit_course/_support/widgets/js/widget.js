// Makes a widget from a draw function: anywidget renders it in a notebook, and a page has places for it.

import { modelOf } from "./model.js";
import { bringIntoView, hideStill } from "./notebook.js";

// draw({ model, el }) -> a function that ends it; it sets data-ready on an element within `el` once it has drawn. Draws
// in every place of this name in the page. -> the object that anywidget takes.
export function widget(name, draw) {
  for (const place of document.querySelectorAll(`.vit-${name}-place:not([data-live])`)) {
    place.dataset.live = "true";
    draw({ model: modelOf(place, name), el: place });
  }
  const render = ({ model, el }) => {
    const ends = [draw({ model, el })];
    requestAnimationFrame(() => ends.push(hideStill(el)));
    const arrive = () => el.querySelector("[data-ready]") && (ready.disconnect(), setTimeout(() => bringIntoView(el), 200));
    const ready = new MutationObserver(arrive);
    ready.observe(el, { attributes: true, childList: true, subtree: true });
    arrive();
    ends.push(() => ready.disconnect());
    return () => ends.forEach((end) => end());
  };
  return { render };
}
