// What the model did not see: the whole photograph, with a frame around the middle that it was given.

import { frame } from "./compose.js";
import { element } from "../../widgets/js/element.js";

export function cut(panel) {
  // -> elements: none where nothing was cut off.
  if (!panel.kept) return [];
  const [down, across] = panel.kept;
  const parts = [[across, "width"], [down, "height"]].filter(([share]) => share < 0.99);
  const text = `The model sees only the middle: ${parts.map(([share, side]) => `${Math.round(100 * share)}\u00a0% of the photograph's ${side}`).join(", ")}`;
  const canvas = element("canvas", { class: "vit-whole", role: "img", "aria-label": "The whole photograph, with a frame around what the model sees" });
  const node = element("details", { class: "vit-cut" }, element("summary", { text }), canvas);
  node.addEventListener("toggle", async () => {
    if (!node.open || canvas.dataset.drawn) return;
    const { media } = panel.find("whole");
    const picture = await createImageBitmap(new Blob([panel.take("whole")], { type: media }));
    const { width, height } = Object.assign(canvas, { width: picture.width, height: picture.height });
    const [w, h] = [across * width, down * height], [x, y] = [(width - w) / 2, (height - h) / 2];
    const context = canvas.getContext("2d");
    context.drawImage(picture, 0, 0);
    context.fillStyle = "rgb(0 0 0 / .6)";
    context.fillRect(0, 0, width, height);
    context.drawImage(picture, x, y, w, h, x, y, w, h);
    frame(context, x, y, w, h, 3);
    canvas.dataset.drawn = "true";
  });
  return [node];
}
