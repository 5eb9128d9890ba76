// What stands beside the photograph and the grid, in this order. A part is a class: `constructor(state)`, `node`, an
// element or null where the data have nothing for it, and `draw(shown)`, once a frame. It may have `end()`.
//
// `shown` has for each panel {panel, layer, head, fusion, direction, q, key, map, top, ready} and what is drawn of it
// {drawn, low, high, colours, nearest}; see shown.js.

export const PARTS = [];
