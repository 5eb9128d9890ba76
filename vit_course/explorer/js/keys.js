// The keys.

import { truce } from "../../_support/widgets/js/truce.js";

export const HELP = [
  ["arrows", "on the picture: the query or, while it is pinned, the token it is compared with; on the small maps: layer and head"],
  ["L, H", "next layer or head; with Shift, the previous one"],
  ["M", "one head, mean of heads or rollout"],
  ["C", "class token and registers"],
  ["D", "where it looks or who looks here"],
  ["O, S, V", "next overlay, scale or view; with Shift, the previous one"],
  ["Enter, Escape", "pin, unpin"],
];

export function listen(root, state, grid) {
  // -> a function that ends it.
  const pin = () => state.tests.covers(state.first, state.query) || state.set({ query: state.query, pinned: true });
  const letters = {
    l: () => state.step("layer", 1), L: () => state.step("layer", -1), h: () => state.step("head", 1), H: () => state.step("head", -1),
    m: () => state.step("fusion", 1), M: () => state.step("fusion", -1), c: () => state.special(),
    d: () => state.step("direction", 1), D: () => state.step("direction", -1), o: () => state.step("overlay", 1), O: () => state.step("overlay", -1),
    s: () => state.step("scale", 1), S: () => state.step("scale", -1), v: () => state.step("view", 1), V: () => state.step("view", -1),
    Escape: () => (state.tests.stop() ? state.schedule() : state.free()),
  };
  const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  root.addEventListener("keydown", (event) => {
    // Keys with Ctrl, Alt or Cmd are the notebook's; text is typed where text is typed.
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input[type=text], textarea, select")) return;
    let action = letters[event.key];
    // Arrows and Enter belong to a button, a slider or a strip that has the focus.
    const [onGrid, onPhoto] = [grid.main === event.target, event.target.matches(".vit-main")];
    if (arrows[event.key] && onGrid) action = () => grid.move(...arrows[event.key]);
    if (arrows[event.key] && onPhoto) action = () => state.move(...arrows[event.key]);
    if (event.key === "Enter" && onPhoto) action = pin;
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  });
  return truce(root);
}
