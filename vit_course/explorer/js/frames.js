// Shows the next camera frame in an open explorer: replaces the data of its panel, and keeps the state.

import { Panel } from "./data.js";
import { rolloutOf } from "./shown.js";

const SIZES = ["kind", "layers", "heads", "tokens", "rows", "columns", "dim"];
const turn = () => globalThis.scheduler?.yield?.() ?? new Promise((done) => setTimeout(done));
const PAUSE = 20; // ms between two tests of whether a rollout is ready

export function fits(panel, described) {
  // Whether the next picture has the sizes of the shown one, and that one is completely decoded.
  return SIZES.every((name) => panel[name] === described[name]) && !panel.decoded.includes(null);
}

export async function replace(state, described, bytes) {
  // Everything is decoded before anything is replaced, so that no frame shows parts of two pictures.
  const { first: panel } = state, next = new Panel(described, bytes);
  next.rest = turn; // without decompression, decoding would never yield to the page
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
