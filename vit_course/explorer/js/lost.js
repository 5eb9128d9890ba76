// Handles lost canvas contents: a browser that is short of memory drops them, and restores the context later.

import { element } from "../../_support/widgets/js/element.js";

const WORDS = "The browser needed the memory of these pictures. They are drawn again as soon as it is available.";

export function mend(root, canvases, again) {
  // again(): called to draw everything anew. -> a function that ends it.
  const lost = new Set(), line = element("p", { class: "vit-hint", role: "status", text: WORDS });
  line.hidden = true;
  root.prepend(line);
  const ends = canvases.flatMap((canvas) => Object.entries({
    contextlost: () => lost.add(canvas),
    contextrestored: () => (lost.delete(canvas), again()),
  }).map(([kind, heard]) => {
    const hear = () => (heard(), (line.hidden = !lost.size));
    canvas.addEventListener(kind, hear);
    return () => canvas.removeEventListener(kind, hear);
  }));
  return () => ends.forEach((end) => end());
}
