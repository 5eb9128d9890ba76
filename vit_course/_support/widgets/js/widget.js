// What makes a widget of a drawing: in a notebook, where anywidget renders it, and in the places of a page.

import { modelOf } from "./model.js";
import { bringIntoView, hideStill } from "./notebook.js";

// draw({ model, el }) -> a function that ends it; the element with the data attribute `ready` stands in `el`. Draws in
// every place of this name in the page. -> what anywidget takes.
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
