// Shows the whole photograph, with a frame around the part that the model sees, and says what there is to know of its
// edges.

import { frame } from "./compose.js";
import { element } from "../../_support/widgets/js/element.js";

// panel: `kept`, the shares of the photograph's height and width that the model sees; and, if these are not in the
// middle, `at`, the shares above and to the left of them. With a `note` of what is seen at the edges, they are what is
// drawn.
export function seenWords({ kept, at, note }) {
  const which = note ? "Drawn above is" : "The model sees";
  const [down, across] = kept;
  const parts = [[across, "width"], [down, "height"]].filter(([share]) => share < 0.99);
  if (!parts.length) return `${which} ${Math.min(down, across) < 0.9999 ? "almost " : ""}the whole photograph`;
  const shares = parts.map(([share, side], i) => {
    return `${Math.round(100 * share)}\u00a0% of ${i ? "its" : "the photograph's"} ${side}`;
  });
  return `${which} only ${at ? "this part" : "the middle"}: ${shares.join(", ")}`;
}

// -> left, top, width and height, as shares.
export function sharesOf({ kept, at }) {
  const [top, left] = at ?? kept.map((share) => (1 - share) / 2);
  return [left, top, kept[1], kept[0]];
}

export function paintCut(canvas, picture, shares) {
  const { width, height } = Object.assign(canvas, { width: picture.width, height: picture.height });
  const [x, y, w, h] = shares.map((share, i) => share * (i % 2 ? height : width));
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  context.fillStyle = "rgb(0 0 0 / .6)";
  context.fillRect(0, 0, width, height);
  context.drawImage(picture, x, y, w, h, x, y, w, h);
  frame(context, x, y, w, h, 3);
  canvas.dataset.drawn = "true";
}

export function cut(panel) {
  // -> a list of elements, empty if nothing was cut off and there is no note.
  const note = panel.note ? [element("p", { class: "vit-cut", text: panel.note })] : [];
  if (!panel.kept) return note;
  const canvas = element("canvas", { class: "vit-whole", role: "img", "aria-label": "The whole photograph, with a frame around what the model sees" });
  const node = element("details", { class: "vit-cut" }, element("summary", { text: seenWords(panel) }), canvas);
  node.addEventListener("toggle", async () => {
    if (!node.open || canvas.dataset.drawn) return;
    const { media } = panel.find("whole");
    paintCut(canvas, await createImageBitmap(new Blob([panel.take("whole")], { type: media })), sharesOf(panel));
  });
  return [...note, node];
}
