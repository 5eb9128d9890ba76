// The weights as numbers: a table by row and column, and a file for a spreadsheet. No DOM.

export function cells(panel, map) {
  // -> {prefix: [[name, weight]], rows: [[weight]]}
  const at = (row, column) => map[panel.prefix + row * panel.columns + column];
  return {
    prefix: Array.from({ length: panel.prefix }, (_, token) => [panel.name(token), map[token]]),
    rows: Array.from({ length: panel.rows }, (_, r) => Array.from({ length: panel.columns }, (_, c) => at(r, c))),
  };
}

const asked = ({ panel, q, phrase }) => phrase ?? panel.name(q);

export function meaning({ panel, q, layer, head, fusion, direction, phrase }, view) {
  // Says in words what the numbers mean.
  const token = phrase ? `“${phrase}”` : q < panel.prefix ? `the ${panel.name(q)}` : `the patch in ${panel.name(q)}`;
  const title = panel.title ? `${panel.title}: ` : "";
  if (view === "similarity") return `${title}cosine of each token with ${token}`;
  const number = panel.layer_numbers[layer];
  const which = { head: `layer ${number}, head ${head}`, mean: `layer ${number}, mean of the heads`, rollout: `rollout up to layer ${number}` }[fusion];
  return `${title}${direction === "to" ? `what each token gives to ${token}` : `what ${token} gives to each token`}, ${which}`;
}

function quoted(value) {
  // Text that begins with one of these signs gets an apostrophe, as a spreadsheet would take it for a formula.
  if (typeof value === "number") return String(value);
  const text = value;
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(shown, view) {
  // One line for each token of each panel.
  const lines = [["picture", "layer", "head", "query", view === "similarity" ? "view" : "direction", "token", "row", "column", view === "similarity" ? "cosine" : "weight"]];
  shown.forEach((one, index) => {
    const { panel, q, layer, head, fusion, direction } = one;
    const values = view === "similarity" ? one.drawn : one.map;
    for (let t = 0; t < panel.tokens; t++) {
      const place = t - panel.prefix;
      const where = place < 0 ? ["", ""] : [Math.floor(place / panel.columns), place % panel.columns];
      lines.push([panel.title || index + 1, panel.layer_numbers[layer], fusion === "head" ? head : fusion, asked(one),
        view === "similarity" ? view : direction, panel.name(t), ...where, Number(values[t].toPrecision(6))]);
    }
  });
  return lines.map((line) => line.map((value) => quoted(value)).join(",") + "\r\n").join("");
}

export function fileName(one, view, ending) {
  // A name that describes the content: attention-cat-layer-11-head-3-from-class-token.csv
  const { panel, layer, head, fusion } = one;
  const number = panel.layer_numbers[layer];
  const parts = { similarity: ["similarity"], colours: ["colours"] }[view] ??
    ["attention", `layer-${number}`, fusion === "head" ? `head-${head}` : fusion];
  const title = panel.title.slice(0, 40); // shortened, so that the end of the name is not cut off
  const words = [...parts.slice(0, 1), title, ...parts.slice(1), view === "colours" ? "" : asked(one)];
  return `${words.map((word) => word.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "")).filter(Boolean).join("-").slice(0, 96)}.${ending}`;
}
