// Finds corresponding tokens in other panels, and tokens by their place in the picture.

export function clamp(value, from, to) {
  return Math.min(Math.max(value, from), to);
}

export function elsewhere(token, from, to, first) {
  // -> the token of panel `to` that corresponds to a token of panel `from`. If one is a changed copy of the first
  // panel, its `link` gives the token with the same content. Otherwise a prefix token corresponds to the one of the
  // same name, and a patch to the one at the same place, even in another grid.
  if (from === to) return token;
  if (from === first && to.link) return to.link[token];
  if (to === first && from.link) {
    const back = from.link.indexOf(token);
    if (back >= 0) return back;
  }
  if (token < from.prefix) return Math.max(to.names.indexOf(from.names[token]), 0);
  const [row, column] = from.place(token);
  const down = Math.floor(((row + 0.5) / from.rows) * to.rows);
  const right = Math.floor(((column + 0.5) / from.columns) * to.columns);
  return to.prefix + down * to.columns + right;
}

export function moved(token, panel, down, right) {
  // From a token that is not a patch, any step goes to the first patch.
  const place = panel.place(token);
  if (!place) return panel.prefix;
  const row = clamp(place[0] + down, 0, panel.rows - 1);
  const column = clamp(place[1] + right, 0, panel.columns - 1);
  return panel.prefix + row * panel.columns + column;
}

export function tokenAt(panel, x, y) {
  // x, y from 0 to 1 over the picture.
  const row = clamp(Math.floor(y * panel.rows), 0, panel.rows - 1);
  const column = clamp(Math.floor(x * panel.columns), 0, panel.columns - 1);
  return panel.prefix + row * panel.columns + column;
}
