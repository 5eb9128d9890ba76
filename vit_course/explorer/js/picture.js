// Composes the picture that "Save picture" saves: layout in CSS pixels, and drawing. No DOM except its canvas.

export const MARGIN = 16;
const GAP = 16;
const WIDEST = 1400;
const [TITLE, LEGEND, LINE, NOTE] = [24, 26, 20, 16];

export function wrapped(text, width, measure) {
  // -> lines no wider than `width`; a wider word gets a line of its own.
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && measure(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export function arrange(panels, { caption, note, legend }, measure) {
  // panels: [{width, height, title}]; caption and note: text -> {width, height, panels: [{x, y}], legend, lines}
  const beside = panels.reduce((sum, { width }) => sum + width, GAP * (panels.length - 1)) <= WIDEST;
  const titles = panels.some(({ title }) => title) ? TITLE : 0;
  let [x, y] = [MARGIN, MARGIN];
  let [right, bottom] = [0, 0];
  const places = panels.map(({ width, height }) => {
    const place = { x, y: y + titles };
    right = Math.max(right, x + width);
    bottom = Math.max(bottom, place.y + height);
    if (beside) x += width + GAP;
    else y = place.y + height + GAP;
    return place;
  });
  const inner = right - MARGIN;
  y = bottom + 12;
  const bar = legend ? { x: MARGIN, y } : null;
  if (legend) y += LEGEND;
  const lines = [];
  for (const [text, size] of [[caption, 14], [note, 12]])
    for (const line of wrapped(text, inner, (words) => measure(words, size))) {
      y += size === 14 ? LINE : NOTE;
      lines.push({ text: line, size, x: MARGIN, y });
    }
  return { width: right + MARGIN, height: y + MARGIN, panels: places, legend: bar, lines };
}

export function compose(canvas, parts, { caption, note, legend, ink, soft, paper, times = 2 }) {
  // parts: [{width, height, title, paint(context of its own size) -> canvas}]; legend: {bar, text} or null
  const context = canvas.getContext("2d");
  const font = (size, weight = 400) => `${weight} ${size}px system-ui, sans-serif`;
  const measure = (text, size) => {
    context.font = font(size);
    return context.measureText(text).width;
  };
  const plan = arrange(parts, { caption, note, legend }, measure);
  Object.assign(canvas, { width: Math.round(plan.width * times), height: Math.round(plan.height * times) });
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(times, times);
  context.textBaseline = "alphabetic";
  parts.forEach(({ width, height, title, paint }, i) => {
    const { x, y } = plan.panels[i];
    context.fillStyle = ink;
    context.font = font(14, 600);
    if (title) context.fillText(title, x, y - 8, width);
    context.drawImage(paint(Math.round(width * times), Math.round(height * times)), x, y, width, height);
  });
  if (legend) {
    const { x, y } = plan.legend;
    const [low, bar, high, about] = [legend.low, legend.bar, legend.high, legend.about];
    context.font = font(12);
    context.fillStyle = soft;
    let at = x;
    for (const piece of [low, bar, high, about].filter(Boolean)) {
      if (typeof piece === "string") {
        context.fillText(piece, at, y + 12);
        at += context.measureText(piece).width + 8;
      } else {
        context.drawImage(piece, at, y, 160, 14);
        at += 168;
      }
    }
  }
  for (const { text, size, x, y } of plan.lines) {
    context.fillStyle = size === 14 ? ink : soft;
    context.font = font(size);
    context.fillText(text, x, y);
  }
  return plan;
}

export function fileOf(canvas) {
  return new Promise((done, failed) =>
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the picture is too large for this browser"))), "image/png"));
}
