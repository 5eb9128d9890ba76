// The further parts of the explorer, in order. A part is a class with `constructor(state)`; `node`, an element, or
// undefined if the data have nothing for it; `draw(shown)`, called once a frame; and perhaps `end()`.
//
// `shown` has an entry for each panel: {panel, layer, head, fusion, direction, q, key, map, top, ready}, and what is
// drawn for it, {drawn, low, high, colours, nearest}; see shown.js.

import { Says } from "./says_part.js";
import { Tools } from "./tools_part.js";
import { Tour } from "./tour.js";
import { Why } from "./why_part.js";
import { Without } from "./without.js";

export const ABOVE = [Tour];
export const BESIDE = [Says]; // in a third column if there is room
export const BELOW = [Why];
export const LAB = [Without];
export const LAST = [Tools];
