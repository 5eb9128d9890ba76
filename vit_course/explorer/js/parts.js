// What stands beside the photograph and the grid, in this order. A part is a class: `constructor(state)`, `node`, an
// element or null where the data have nothing for it, and `draw(shown)`, once a frame. It may have `end()`.
//
// `shown` has for each panel {panel, layer, head, fusion, direction, q, key, map, top, ready} and what is drawn of it
// {drawn, low, high, colours, nearest}; see shown.js.

import { Says } from "./says_part.js";
import { Tools } from "./tools_part.js";
import { Tour } from "./tour.js";
import { Why } from "./why_part.js";
import { Without } from "./without.js";

export const ABOVE = [Tour];
export const BESIDE = [Says]; // where there is room for a third column
export const BELOW = [Why];
export const LAB = [Without];
export const LAST = [Tools];
