// Small charts as SVG paths: numbers in, path data of bars or a curve out. A helper that creates SVG nodes comes last.

export function bars(values, top) {
  // Signed bars of width 1 around the height 0, `top` drawn at 1. -> [outline of those above, of those below]
  const outlines = ["", ""];
  values.forEach((value, i) => {
    // A value that is not 0 gets a visible bar.
    const height = value !== 0 && top > 0 ? Math.max(Math.min(Math.abs(value) / top, 1), 0.03) : 0;
    if (height > 0) outlines[value < 0 ? 1 : 0] += `M${i + 0.08} 0h.84v${(value < 0 ? height : -height).toFixed(3)}h-.84z`;
  });
  return outlines;
}

export function steps(values) {
  // A histogram on the ground line 1: bars of width 1, the largest of height 1.
  const top = values.reduce((a, b) => Math.max(a, b), 0) || 1;
  let outline = "";
  values.forEach((value, i) => {
    if (value > 0) outline += `M${i + 0.06} 1h.88v${(-Math.max(value / top, 0.03)).toFixed(3)}h-.88z`;
  });
  return outline;
}

export function curve(values, width, height, top = 1) {
  // A line through points at equal distances from left to right.
  const apart = values.length > 1 ? width / (values.length - 1) : 0;
  return values.map((value, i) =>
    `${i ? "L" : "M"}${(i * apart).toFixed(2)} ${(height * (1 - Math.min(value / top, 1))).toFixed(2)}`).join("");
}

export function largest(...lists) {
  // The largest absolute value in all lists.
  let top = 0;
  for (const list of lists) for (const value of list) if (Math.abs(value) > top) top = Math.abs(value);
  return top;
}

export function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
