// A photograph is cut into patches and unrolled into their sequence; the patch size and the order of the axes are
// dragged.

import TABLE from "./cutter.json" with { type: "json" };
import { drag, explorable, handle, html, keys, nothing, strip, svg } from "./play.js";

const SIZE = 224; // of the photograph, in pixels
const SIDES = TABLE.side.choices;
const RIGHT = TABLE.axes.usual;
const STRANGER = "4235"; // the order in which the stranger has cut: the grid is flipped
const AXES = { 2: ["row", "of patches"], 3: ["row", "inside"], 4: ["column", "of patches"], 5: ["column", "inside"] };
const GAP = 2; // between two squares of the sequence
const number = (n) => n.toLocaleString("en-US");
const clamp = (x, most) => Math.max(0, Math.min(most, x));

const kept = new Map();
function cut(side, axes) {
  // -> (N * P * P,): the number of the pixel at each place of the sequence. axes: the numbers of the four axes of
  // height and width of x.reshape(B, C, H/P, P, W/P, P), in their new order.
  const key = `${side} ${axes}`;
  if (!kept.has(key)) {
    if (kept.size > 40) kept.clear();
    const grid = SIZE / side;
    const [long, step] = [{ 2: grid, 3: side, 4: grid, 5: side }, { 2: side * SIZE, 3: SIZE, 4: side, 5: 1 }];
    const [[a, b, c, d], [e, f, g, h]] = [[...axes].map((axis) => long[axis]), [...axes].map((axis) => step[axis])];
    const places = new Int32Array(SIZE * SIZE);
    for (let i = 0, at = 0; i < a; i++)
      for (let j = 0; j < b; j++)
        for (let k = 0; k < c; k++) for (let l = 0; l < d; l++) places[at++] = i * e + j * f + k * g + l * h;
    kept.set(key, places);
  }
  return kept.get(key);
}

function ways({ side, axes, stranger }) {
  // -> how the sequence is cut, and how it is put together; the chips set one of the two.
  return [cut(side, stranger ? STRANGER : axes), cut(side, stranger ? axes : RIGHT)];
}

export function compute(state) {
  const { side, square } = state;
  const [sequence, back] = ways(state);
  const grid = SIZE / side;
  const [patches, area, rightly] = [grid * grid, side * side, cut(side, RIGHT)];
  let [place, right, moved] = [Math.min(square, patches - 1), patches, 0];
  for (let n = 0; n < patches; n++) {
    let i = n * area;
    while (i < (n + 1) * area && sequence[i] === rightly[i]) i++;
    right -= i < (n + 1) * area;
  }
  for (let i = 0; i < sequence.length; i++) moved += sequence[i] !== back[i];
  return {
    patches, numbers: 3 * area, pairs: patches * patches, place, row: Math.floor(place / grid), column: place % grid, right, moved,
    pixels: Array.from(sequence.subarray(place * area, place * area + 49)), // the first pixels of the chosen square
  };
}

function laid(wide, patches) {
  // -> the layout of the sequence's squares: as large as possible, in rows from left to right.
  const tall = wide < 600 ? 260 : 176;
  const fits = (columns) => Math.floor(Math.min((wide + GAP) / columns, (tall + GAP) / Math.ceil(patches / columns)));
  let step = fits(patches);
  for (let columns = 1; columns < patches && fits(patches) < 44; columns++) step = Math.max(step, fits(columns)); // several rows, as they would be too small in one
  return { step, long: step - (step < 14 ? 1 : GAP), columns: Math.floor((wide + GAP) / step), tall };
}

function open({ photograph }, redraw) {
  // The photograph is decoded a little later. paint() watches the width of the page, and lays the sequence out anew.
  const things = { photograph, pixels: null, wide: 800, redraw, watch: null };
  const image = new Image();
  image.src = photograph;
  image.decode().then(() => {
    const context = Object.assign(document.createElement("canvas"), { width: SIZE, height: SIZE }).getContext("2d");
    context.drawImage(image, 0, 0, SIZE, SIZE);
    things.pixels = new Uint32Array(context.getImageData(0, 0, SIZE, SIZE).data.buffer);
    redraw();
  });
  return things;
}

function draw(canvas, content) {
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(content.buffer), SIZE, SIZE), 0, 0);
}

function paint(root, state, { patches, place }, things) {
  const row = root.querySelector(".cut-row canvas");
  if (!things.watch) {
    things.watch = new ResizeObserver(() => row.clientWidth && row.clientWidth !== things.wide && ((things.wide = row.clientWidth), things.redraw()));
    things.watch.observe(row);
  }
  const { pixels } = things;
  if (!pixels) return;
  const { side } = state;
  const [[sequence, back], inSquares] = [ways(state), cut(side, RIGHT)];
  // With the right axes the chosen square has an outline; otherwise all pixels except its own are darkened.
  const [from, again, squares] = [sequence === inSquares ? pixels.slice() : pixels.map((pixel) => ((pixel >>> 1) & 0x7f7f7f) | 0xff000000), new Uint32Array(pixels.length), new Uint32Array(pixels.length)];
  for (let i = place * side * side; i < (place + 1) * side * side; i++) from[sequence[i]] = pixels[sequence[i]];
  for (let i = 0; i < pixels.length; i++) squares[inSquares[i]] = again[back[i]] = pixels[sequence[i]];
  draw(root.querySelector(".cut-from canvas"), from);
  draw(root.querySelector(".cut-back canvas"), again);
  things.squares ??= Object.assign(document.createElement("canvas"), { width: SIZE, height: SIZE });
  draw(things.squares, squares);
  const { step, long, columns, tall } = laid(things.wide, patches);
  const [dense, grid] = [Math.min(2, devicePixelRatio || 1), SIZE / side];
  Object.assign(row, { width: Math.round(things.wide * dense), height: Math.round(tall * dense) });
  const context = row.getContext("2d");
  context.scale(dense, dense);
  for (let n = 0; n < patches; n++)
    context.drawImage(things.squares, (n % grid) * side, Math.floor(n / grid) * side, side, side, (n % columns) * step, Math.floor(n / columns) * step, long, long);
}

function frame(x, y, long, wide) {
  // An outline that is visible on light and on dark.
  return svg`<rect x=${x} y=${y} width=${long} height=${long} fill="none" stroke="#fff" stroke-width=${2.2 * wide} /><rect
    x=${x} y=${y} width=${long} height=${long} fill="none" stroke="#17181c" stroke-width=${wide} />`;
}

function pointing(play, squareAt) {
  // -> handlers of pointermove and click that choose a square: a mouse points, a finger taps. squareAt(x, y): the
  // square at a place given in shares of the drawing's width and height.
  const put = (event, lasts) => {
    const box = event.currentTarget.getBoundingClientRect();
    const square = squareAt((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    if (square >= 0 && !event.target.closest(".play-handle") && (lasts || square !== play.answer.place)) play.set({ square }, lasts);
  };
  return [(event) => event.pointerType === "mouse" && !event.buttons && put(event, false), (event) => put(event, true)];
}

function photograph(play, { place, row, column, patches }) {
  const { side, axes, stranger } = play.state;
  const grid = SIZE / side;
  const whole = Array.from({ length: grid - 1 }, (_, i) => `M ${(i + 1) * side} 0 V ${SIZE} M 0 ${(i + 1) * side} H ${SIZE}`).join(" ");
  const cutAt = (next) => {
    // Chooses the square of the new size at the place of the old one.
    const [x, y] = [(column + 0.5) * side, (row + 0.5) * side].map((middle) => Math.floor(middle / next));
    return { side: next, square: (y * SIZE) / next + x };
  };
  const nearest = ({ x, y }) => {
    const off = (one) => Math.abs(Math.log((2 * one) / Math.max(6, x + y)));
    return SIDES.reduce((a, b) => (off(b) < off(a) ? b : a));
  };
  const [over, click] = pointing(play, (x, y) => {
    const pixel = clamp(Math.floor(y * SIZE), SIZE - 1) * SIZE + clamp(Math.floor(x * SIZE), SIZE - 1);
    return Math.floor(ways(play.state)[0].indexOf(pixel) / side ** 2);
  });
  const rightly = axes === RIGHT && !stranger;
  return html`<div class="cut-stack cut-from"><canvas width=${SIZE} height=${SIZE}></canvas>
    <svg viewBox="0 0 ${SIZE} ${SIZE}" role="group" aria-label="The photograph, cut into ${grid} rows of ${grid} patches" @pointermove=${over} @click=${click}>
      <path d=${whole} stroke="#17181c" stroke-opacity="0.5" stroke-width=${side < 14 ? 0.6 : 1.4} /><path d=${whole} stroke="#fff" stroke-width=${side < 14 ? 0.35 : 0.8} />
      ${rightly ? frame(column * side, row * side, side, 2) : nothing}
      ${rightly && side >= 28 && place ? svg`<text class="cut-number" x=${column * side + 6} y=${row * side + 16}>${place}</text>` : nothing}
      <rect x="0" y="0" width=${side} height=${side} fill="none" stroke="#fff" stroke-width="4.6" /><rect class="cut-first" x="0" y="0" width=${side} height=${side} />
      ${handle({
        label: "side of a patch", text: `${side} pixels: ${patches} patches`, now: side, least: SIDES[0], most: SIDES.at(-1), at: { x: side, y: side },
        move: play.moving((point) => cutAt(nearest(point))),
        step: (right, below) => play.set(cutAt(SIDES[clamp(SIDES.indexOf(play.state.side) + right + below, SIDES.length - 1)])),
      }, svg`<circle cx=${side} cy=${side} r="19" fill="transparent" /><circle class="play-grip cut-grip" cx=${side} cy=${side} r="9" />
        <text class="cut-number"><tspan x=${side + 13} y=${Math.max(11, side - 4)}>P = ${side}</tspan><tspan x=${side + 13} dy="12">${number(patches)} patches</tspan></text><path class="cut-arrow" d="M ${side - 4} ${side - 4} l 8 8 m 0 -4.5 v 4.5 h -4.5 m -3.5 -3.5 v -4.5 h 4.5" />`)}
    </svg></div>`;
}

function sequence(play, { place, patches, row, column }) {
  const { wide } = play.things;
  const { step, long, columns, tall } = laid(wide, patches);
  const inside = (x, y) => clamp(clamp(Math.floor(y / step), patches) * columns + clamp(Math.floor(x / step), columns - 1), patches - 1);
  const [over, click] = pointing(play, (x, y) => inside(x * wide, y * tall));
  const [x, y] = [(place % columns) * step, Math.floor(place / columns) * step];
  // A number at each square where there is room, else at the first of each row.
  const labels = Array.from({ length: patches }, (_, n) => n).filter((n) => step >= 34 || (n % columns === 0 && step >= 15));
  const label = (n) => svg`<text class="cut-number" x=${(n % columns) * step + 3} y=${Math.floor(n / columns) * step + 12}>${n}</text>`;
  return html`<div class="cut-stack cut-row" style="height: ${tall}px"><canvas></canvas>
    <svg viewBox="0 0 ${wide} ${tall}" role="group" aria-label="The sequence" @pointermove=${over} @click=${click}>${labels.map(label)}
      <g class="play-handle" tabindex="0" role="slider" aria-label="square of the sequence" aria-valuenow=${place} aria-valuemin="0" aria-valuemax=${patches - 1}
        aria-valuetext="square ${place} of ${patches}: row ${row}, column ${column}"
        @pointerdown=${drag({ x: x + step / 2, y: y + step / 2 }, play.moving(({ x, y }) => ({ square: inside(x, y) })))}
        @keydown=${keys((right, below) => play.set({ square: clamp(Math.min(play.state.square, patches - 1) + right + below * columns, patches - 1) }))}>
        <rect x=${x - Math.max(0, 12 - step / 2)} y=${y - Math.max(0, 12 - step / 2)} width=${Math.max(24, step)} height=${Math.max(24, step)} fill="transparent" />
        <g class="play-grip">${frame(x, y, long, step > 24 ? 3 : 2)}</g></g>
    </svg></div>`;
}

function chips(play) {
  // The four axes in their order: the middle numbers of x.permute(0, 2, 4, 3, 5, 1).
  const [LEFT, WIDE] = [80, 71];
  const put = (axis, slot) => {
    const others = play.state.axes.replace(axis, "");
    const to = clamp(Math.round(slot), 3);
    return { axes: others.slice(0, to) + axis + others.slice(to) };
  };
  const chip = (axis) => {
    const slot = play.state.axes.indexOf(axis);
    const [middle, colour] = [LEFT + (slot + 0.5) * WIDE, axis % 2 ? "var(--play-1)" : "var(--play-0)"];
    return handle({
      label: `axis ${axis}, ${AXES[axis].join(" ")}`, text: `place ${slot + 1} of 4`, now: slot + 1, least: 1, most: 4, at: { x: middle, y: 30 },
      move: play.moving(({ x }) => put(axis, (x - LEFT) / WIDE - 0.5)), step: (right) => play.set(put(axis, play.state.axes.indexOf(axis) + right)),
    }, svg`<rect class="play-grip cut-chip" x=${middle - WIDE / 2 + 3} y="3" width=${WIDE - 6} height="58" rx="8" style="stroke: ${colour}" />
      <text class="cut-axis" x=${middle} y="22" text-anchor="middle">${axis}</text>
      <text class="cut-small" text-anchor="middle"><tspan x=${middle} y="38">${AXES[axis][0]}</tspan><tspan x=${middle} y="51">${AXES[axis][1]}</tspan></text>`);
  };
  return html`<svg class="cut-chips" viewBox="0 0 400 64" role="group" aria-label="The order of the axes">
    <text x="0" y="23">permute(0,</text>${[2, 3, 4, 5].map((axis) => chip(String(axis)))}<text x="368" y="23">, 1)</text></svg>`;
}

function counts({ side }, { patches, numbers, pairs }) {
  const long = (88 * patches) / 1024;
  const map = html`<svg class="cut-map" viewBox="-1 -1 90 90" aria-hidden="true"><rect width="88" height="88" fill="none" stroke="var(--vit-edge)" stroke-dasharray="2 3" />${long < 60 ? svg`<text x="86" y="84" text-anchor="end" class="play-soft">at P = 7</text>` : nothing}
    <rect class="cut-filled" width=${Math.max(0.7, long)} height=${Math.max(0.7, long)} />
    ${long < 40 ? svg`<text x=${long + 4} y="12">${patches} x ${patches}</text>` : svg`<text class="cut-inside" x=${long / 2} y=${long / 2 + 4} text-anchor="middle">${number(patches)} x ${number(patches)}</text>`}</svg>`;
  return html`<div class="cut-counts"><dl><div><dt>patches, N = (224 / ${side})\u00b2</dt><dd>${number(patches)}</dd></div>
    <div><dt>numbers in each, ${side} \u00b7 ${side} \u00b7 3</dt><dd>${number(numbers)}</dd></div>
    <div><dt>pairs that attention compares, N \u00b7 N</dt><dd>${number(pairs)}</dd></div></dl>
    <figure>${map}<figcaption>all pairs, N by N</figcaption></figure></div>`;
}

function view(state, answer, _things, play) {
  const { stranger, axes } = state;
  const rightly = !stranger && axes === RIGHT;
  const from = rightly ? "The photograph and its patches" : `The photograph: the bright pixels are those of square ${answer.place}`;
  const row = `The ${stranger ? "stranger's " : ""}sequence: ${number(answer.patches)} ${rightly ? "patches" : "squares"}, in reading order`;
  const says = stranger ? "A stranger cut the photograph with two axes swapped. Drag the axes until they put it back together."
    : "Your order of the axes: first which patch, then where inside it. Drag one and see what goes wrong.";
  return html`<div class="cut-body"><figure class="cut-one">${photograph(play, answer)}<figcaption>${from}</figcaption></figure>
      <figure class="cut-unrolled"><figcaption>${row}</figcaption>${sequence(play, answer)}</figure>
      <div class="cut-middle">${counts(state, answer)}
        <div class="cut-order">${strip(`${play.id}-who`, "Whose cut", { false: "your cut", true: "a stranger's cut" }, String(stranger), (one) => play.set({ stranger: one === "true", axes: RIGHT }))}
        <p class="cut-says">${says}</p>${chips(play)}</div></div>
      <figure class="cut-other"><div class="cut-stack cut-back"><canvas width=${SIZE} height=${SIZE}></canvas></div>
        <figcaption>The sequence, put back together ${stranger ? "in your order" : "by unpatchify"}</figcaption></figure></div>`;
}

function words({ side, axes, stranger }, { patches, numbers, place, row, column, right, moved }) {
  const grid = SIZE / side;
  const lies = `Patch ${place} is in row ${row}, column ${column}, counting from 0: ${row}\u00a0\u00b7\u00a0${grid}\u00a0+\u00a0${column}\u00a0=\u00a0${place}.`;
  const code = `permute(0, ${[...axes].join(", ")}, 1)`;
  if (!stranger && axes === RIGHT) return `With P = ${side} the photograph becomes a sequence of ${number(patches)} patches of ${number(numbers)} numbers each. ${lies}`;
  if (!stranger) return `With ${code}, ${number(right)} of the ${number(patches)} patches are right. The shape (${number(patches)}, ${number(numbers)}) is still right, so there is no error, but ${number(moved)} of 50,176 pixels come back in the wrong place.`;
  if (moved) return `Put together with ${code}, ${number(moved)} of 50,176 pixels are in the wrong place. The stranger cut in another order.`;
  return `The cat is whole again: the stranger cut with ${code}. Only ${number(right)} of the ${number(patches)} patches are right, but no pixel has moved. Two wrong functions can undo each other.`;
}

export default explorable("cutter", TABLE, {
  title: "The cutter",
  hint: "Drag the orange corner of the first patch: how many patches does the photograph become? Point at a patch, or tap it, to find it in the sequence.",
  goals: [
    { text: "Find the patch size P that gives 64 patches.", reached: (_state, { patches }) => patches === 64 },
    { text: "Choose \u201ca stranger's cut\u201d and put the cat back together.", reached: ({ stranger }, { moved }) => stranger && moved === 0 },
  ],
  compute, open, paint, view, words,
  close: ({ photograph, watch }) => (watch?.disconnect(), URL.revokeObjectURL(photograph)),
});
