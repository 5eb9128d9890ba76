// Frame after frame in an explorer that is open: a panel's data replaced, while all that was set stays.

import { Panel } from "./data.js";
import { rolloutOf } from "./shown.js";

const SIZES = ["kind", "layers", "heads", "tokens", "rows", "columns", "dim"];
const turn = () => globalThis.scheduler?.yield?.() ?? new Promise((done) => setTimeout(done));
const PAUSE = 20; // ms, from one look at a rollout to the next

export function fits(panel, described) {
  // Whether the next picture has the places of the one that is shown, and that one is there as a whole.
  return SIZES.every((name) => panel[name] === described[name]) && !panel.decoded.includes(null);
}

export async function replace(state, described, bytes) {
  // Everything is decoded before anything is replaced, so that no frame shows parts of two pictures.
  const { first: panel } = state, next = new Panel(described, bytes);
  next.rest = turn; // frames come unsqueezed, so that nothing else would let the page have its turn
  await next.open();
  await next.decodeAll();
  const rolls = () => state.get("fusion") === "rollout" && !rolloutOf(next).ready;
  while (!panel.closed && rolls()) await new Promise((done) => setTimeout(done, PAUSE));
  next.closed = panel.closed;
  if (panel.closed) return;
  const { changed, closed, wanted, picture } = panel, own = { changed, closed, wanted, replaced: (panel.replaced ?? 0) + 1 };
  Object.assign(panel, { tops_of: null, rollout: null, telling: null }, next, own);
  picture.close();
  state.tests.renewed(panel);
  state.follows = true;
  panel.changed();
}
