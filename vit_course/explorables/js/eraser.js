// A square is dragged over a photograph and a small ViT answers anew: does its attention show which patches matter?

import TABLE from "./eraser.json" with { type: "json" };
import { mean, patchesUnder, Scene, SIDE } from "./eraser_scene.js";
import { cropped, explorable, handle, html, nothing, percent, strip, svg } from "./play.js";

const CELL = 40; // how large a patch is drawn
const SIZE = SIDE * CELL;
const [MOST, LEAST, LITTLE, MUCH] = [8, 32, 0.02, 0.05]; // much and little attention, in ranks; little and much effect
const clamp = (value, most) => Math.max(0, Math.min(most, value));
const points = (share) => (100 * share).toFixed(1);
const spotOf = ({ row, column, size }) => [Math.min(row, SIDE - size), Math.min(column, SIDE - size)];

export function ranks(values) {
  // 1 for the smallest; equal values share the mean of their ranks.
  return values.map((one) => values.filter((other) => other < one).length + (values.filter((other) => other === one).length + 1) / 2);
}

export function rankCorrelation(x, y) {
  const [a, b] = [ranks(x), ranks(y)].map((r) => r.map((value) => value - mean(r)));
  const product = (p, q) => p.reduce((total, value, i) => total + value * q[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b)) || 0;
}

export function compute(state, things) {
  const { photograph, size, layer } = state;
  const { probabilities: intact, rows } = things.intact(photograph);
  const [row, column] = spotOf(state);
  const place = row * (SIDE + 1 - size) + column;
  const probabilities = things.at(state, place);
  const answer = intact.indexOf(Math.max(...intact));
  const tried = things.places(state).map((one) => one && intact[answer] - one[answer]); // null where not yet tried
  const attention = rows[layer];
  const under = tried.map((_, at) => mean(patchesUnder(at, size).map((patch) => attention[patch])));
  const found = { intact, probabilities, answer, place, attention, under, tried };
  return tried.includes(null) ? found : { ...found, effects: tried, agreement: rankCorrelation(under, tried) };
}

function judged({ size, pins }, { under, tried }) {
  // -> for each pin a sentence on its patch, and whether it reaches the goal.
  return pins.map((patch, which) => {
    if (patch < 0 || size !== 1 || tried[patch] === null) return null;
    const rank = under.filter((one) => one > under[patch]).length + 1;
    const right = which ? rank > SIDE * SIDE - LEAST && tried[patch] > MUCH : rank <= MOST && Math.abs(tried[patch]) < LITTLE;
    const moves = `erasing it ${tried[patch] < 0 ? "raises" : "lowers"} the answer by ${points(Math.abs(tried[patch]))} percentage points`;
    return { right, text: `row ${Math.floor(patch / SIDE)}, column ${patch % SIDE} ranks ${rank} of 64 by attention; ${moves}` };
  });
}

const outline = (row, column, size) => svg`<rect class="eraser-under" x=${column * CELL} y=${row * CELL} width=${size * CELL} height=${size * CELL} />
  <rect class="eraser-over play-grip" x=${column * CELL} y=${row * CELL} width=${size * CELL} height=${size * CELL} />`;

function arrows(row, column, size) {
  // Arrows on the sides to which the square can move.
  const [x, y, far] = [(column + size / 2) * CELL, (row + size / 2) * CELL, (size * CELL) / 2 + 7];
  const open = [column + size < SIDE, row + size < SIDE, column > 0, row > 0];
  return open.map((free, turn) => (free ? svg`<path class="eraser-arrow" d="M ${far} -7 l 8 7 l -8 7 z" transform="translate(${x} ${y}) rotate(${90 * turn})" />` : nothing));
}

const clicked = (play) => (event) => {
  // Moves the square's middle to the clicked place. Ignores clicks on the square itself, such as at the end of a drag.
  if (event.target.closest(".play-handle")) return;
  const box = event.currentTarget.getBoundingClientRect();
  const { size } = play.state;
  const to = (share) => clamp(Math.round(SIDE * share - size / 2), SIDE - size);
  play.set({ row: to((event.clientY - box.top) / box.height), column: to((event.clientX - box.left) / box.width) });
};

function photo(play, answer) {
  const { state, things } = play;
  const [row, column] = spotOf(state);
  const size = state.size;
  const word = things.model.config.class_names[answer.answer];
  const square = handle({
    label: "square", text: `row ${row}, column ${column}: ${word} ${percent(answer.probabilities[answer.answer])}, ${percent(answer.intact[answer.answer])} without it`,
    now: answer.place, least: 0, most: (SIDE + 1 - size) ** 2 - 1, at: { x: column * CELL, y: row * CELL },
    move: play.moving(({ x, y }) => ({ row: clamp(Math.round(y / CELL), SIDE - size), column: clamp(Math.round(x / CELL), SIDE - size) })),
    step: (right, below) => {
      const [top, left] = spotOf(play.state); // keys may be faster than frames
      play.set({ row: clamp(top + below, SIDE - size), column: clamp(left + right, SIDE - size) });
    },
  }, svg`<rect x=${column * CELL} y=${row * CELL} width=${size * CELL} height=${size * CELL} fill="transparent" />${arrows(row, column, size)}${outline(row, column, size)}`);
  return html`<div class="eraser-photo"><canvas data-draws="photo" width="32" height="32"></canvas>
    <svg viewBox="0 0 ${SIZE} ${SIZE}" role="group" aria-label="The photograph and the square" @click=${clicked(play)}>${square}</svg></div>`;
}

function bars({ intact, probabilities, answer }, words, note) {
  // The probabilities of the answer and of the strongest other class, with a line at the value without the square.
  const others = probabilities.map((share, k) => (k === answer ? -1 : share));
  const bar = (k) => html`<div class="eraser-row"><span>${words[k]}</span><span class="eraser-track"><span class="eraser-bar" style="width: ${100 * probabilities[k]}%"></span
    ><span class="eraser-was" style="left: ${100 * intact[k]}%"></span></span><b>${percent(probabilities[k])}</b></div>`;
  return html`<div class="eraser-bars">${bar(answer)}${bar(others.indexOf(Math.max(...others)))}<p>The vertical line marks the probability without the square. ${note}</p></div>`;
}

function map(play, label, values, size, filled) {
  // A map as squares with areas in proportion to the values, over a pale photograph: filled if positive, else hollow.
  const { state } = play;
  const along = SIDE + 1 - size;
  const most = Math.max(...values.map((value) => Math.abs(value ?? 0))) || 1;
  const one = (value, at) => {
    const [y, x] = [Math.floor(at / along) + size / 2, (at % along) + size / 2];
    if (value === null) return svg`<circle cx=${x * CELL} cy=${y * CELL} r="2" fill="var(--vit-edge)" />`;
    const half = Math.max(1, 0.46 * CELL * Math.sqrt(Math.abs(value) / most));
    return svg`<rect class=${value < 0 ? "eraser-less" : filled} x=${x * CELL - half} y=${y * CELL - half} width=${2 * half} height=${2 * half} />`;
  };
  const pins = state.size === 1 ? state.pins.map((patch, which) => (patch < 0 ? nothing : svg`<text class="eraser-pin" x=${((patch % SIDE) + 0.5) * CELL} y=${(Math.floor(patch / SIDE) + 0.5) * CELL + 9}>${"AB"[which]}</text>`)) : nothing;
  return html`<div class="eraser-map"><canvas data-draws="grey" width="32" height="32"></canvas><svg viewBox="0 0 ${SIZE} ${SIZE}" role="img" aria-label=${label} @click=${clicked(play)}>
    ${values.map(one)}${outline(...spotOf(state), state.size)}${pins}</svg></div>`;
}

function scatter(play, { under, tried, place }) {
  // A scatter plot of all places: attention on the x axis, the loss of the answer's probability on the y axis.
  const [left, right, top, bottom] = [46, 312, 14, 256];
  const [high, low] = [Math.max(...tried, 0.02), Math.min(...tried, -0.02)]; // null counts as 0
  const x = (value) => left + 8 + ((right - left - 16) * value) / Math.max(...under);
  const y = (value) => top + 8 + ((bottom - top - 16) * (high - value)) / (high - low);
  const along = SIDE + 1 - play.state.size;
  const point = (value, at) => (value === null ? nothing : svg`<circle class="eraser-point" cx=${x(under[at])} cy=${y(value)} r="4.5" @click=${() => play.set({ row: Math.floor(at / along), column: at % along })} />`);
  const pins = play.state.size === 1 ? play.state.pins.map((patch, which) => (patch < 0 || tried[patch] === null ? nothing : svg`<text class="eraser-name" x=${x(under[patch]) + 8} y=${y(tried[patch]) - 6}>${"AB"[which]}</text>`)) : nothing;
  return html`<svg viewBox="0 0 320 300" role="img" aria-label="Attention and effect of each place" class="eraser-scatter">
    <path d="M ${left} ${top} V ${bottom} H ${right}" fill="none" stroke="var(--vit-edge)" /><line x1=${left} x2=${right} y1=${y(0)} y2=${y(0)} stroke="var(--vit-edge)" stroke-dasharray="3 4" />
    ${[high, 0, low].filter((value) => !value || Math.abs(y(value) - y(0)) > 16).map((value) => svg`<text class="play-soft" x=${left - 6} y=${y(value) + 5} text-anchor="end">${(100 * value).toFixed(0)}</text>`)}
    <text class="play-soft" x=${left} y="276">0</text><text class="play-soft" x=${right} y="276" text-anchor="end">${percent(Math.max(...under))}</text>
    <text x=${(left + right) / 2} y="292" text-anchor="middle">attention \u2192</text><text x="12" y=${(top + bottom) / 2} text-anchor="middle" transform="rotate(-90 12 ${(top + bottom) / 2})">percentage points lost \u2192</text>
    ${tried.map(point)}<circle cx=${x(under[place])} cy=${y(tried[place])} r="9" fill="none" stroke="var(--vit-ink)" stroke-width="3" />${pins}</svg>`;
}

function pinning(play, answer) {
  const { size, pins } = play.state;
  const [row, column] = spotOf(play.state);
  const put = (which) => play.set({ pins: pins.map((patch, i) => (i === which ? SIDE * row + column : patch)) });
  const said = judged(play.state, answer).map((one) => one && html`<b>${one.right ? "\u2713 Yes" : "Not yet"}</b>: ${one.text}.`);
  const button = (text, which) => html`<button type="button" ?disabled=${size !== 1} @click=${() => put(which)}>${text}</button><span>${size === 1 ? said[which] ?? "" : which ? "" : "Choose the 1 \u00d7 1 square to pin a patch."}</span>`;
  return html`<div class="eraser-pins">${["Pin A here: much attention, little effect", "Pin B here: little attention, much effect"].map(button)}</div>`;
}

function view(state, answer, things, play) {
  const { photograph, size, filling, layer } = state;
  const other = things.names[(photograph + 1) % things.names.length];
  const choose = (values) => play.set({ ...values, pins: [-1, -1] }); // a pin is about one photograph, one filling and one map
  const tried = answer.tried.filter((one) => one !== null).length;
  const most = Math.max(...answer.tried.map((value) => Math.abs(value ?? 0)));
  const word = `\u201c${things.model.config.class_names[answer.answer]}\u201d`;
  const found = tried < answer.tried.length ? `${tried} of ${answer.tried.length} places tried so far.` : html`Rank correlation of attention and effect: <b>${answer.agreement.toFixed(2).replace("-", "\u2212")}</b> (1: same order, 0: unrelated).`;
  return html`<div class="play-row">
      ${strip(`${play.id}-photograph`, "Photograph", things.names, String(photograph), (one) => choose({ photograph: Number(one) }))}
      ${strip(`${play.id}-size`, "Patches under the square", { 1: "1 \u00d7 1", 2: "2 \u00d7 2", 3: "3 \u00d7 3", 4: "4 \u00d7 4 patches" }, String(size), (one) => choose({ size: Number(one) }))}
      ${strip(`${play.id}-filling`, "What the square shows", { grey: "grey", other: `a piece of \u201c${other}\u201d` }, filling, (one) => choose({ filling: one }))}
    </div>${cropped(things.cropped[things.names[photograph]])}
    <div class="play-body eraser-body">
      <div class="eraser-top"><div class="eraser-first">${photo(play, answer)}
          ${bars(answer, things.model.config.class_names, things.lacking.includes(things.names[photograph]) ? "None of the model's ten words fits this photograph." : "")}${pinning(play, answer)}</div>
        <figure>${scatter(play, answer)}<figcaption><span>Each dot is one place of the square; the ring marks where it is now. ${found}</span></figcaption></figure></div>
      <div class="eraser-maps"><figure>${map(play, "Attention to each patch", answer.attention, 1, "eraser-more")}
          <figcaption>Attention of the class token, averaged over the heads. The largest square: ${percent(Math.max(...answer.attention))}
          ${strip(`${play.id}-layer`, "Layer", { 0: "layer 0", 1: "1", 2: "2", 3: "3" }, String(layer), (one) => choose({ layer: Number(one) }))}</figcaption></figure>
        <figure>${map(play, "Effect of the square at each place", answer.tried, size, "eraser-more")}
          <figcaption>Effect of the square at each place: ${word} loses where a square is filled and gains where it is hollow, by at most ${points(most)} percentage points</figcaption></figure></div>
    </div>`;
}

function paint(root, state, answer, things) {
  const { photograph, size, filling } = state;
  const pixels = things.pixels[photograph];
  const under = new Set(patchesUnder(answer.place, size));
  const other = filling === "other" ? things.pixels[(photograph + 1) % things.names.length] : null;
  for (const canvas of root.querySelectorAll("canvas")) {
    const image = new ImageData(32, 32);
    for (let i = 0; i < 32 * 32; i++) {
      const erased = under.has(SIDE * Math.floor(i / 128) + Math.floor((i % 32) / 4));
      const colour = canvas.dataset.draws === "photo" && erased && !other ? things.model.grey : (canvas.dataset.draws === "photo" && erased ? other : pixels).subarray(3 * i, 3 * i + 3);
      image.data.set([...colour, 255], 4 * i);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
  things.fill(state);
}

function words(state, { intact, probabilities, answer, place, under, effects }, { model: { config } }) {
  const [row, column] = spotOf(state);
  const [before, after] = [intact[answer], probabilities[answer]];
  const moves = Math.abs(after - before) < 0.005 ? `stays at ${percent(before)}` : `${after < before ? "falls" : "rises"} from ${percent(before)} to ${percent(after)}`;
  const where = `${state.size === 1 ? "" : `${state.size} \u00d7 ${state.size} patches from `}row ${row}, column ${column}`;
  const said = `With the square over ${where}, the probability of \u201c${config.class_names[answer]}\u201d ${moves}.`;
  const first = probabilities.indexOf(Math.max(...probabilities));
  const now = first === answer ? "" : ` The answer is now \u201c${config.class_names[first]}\u201d.`;
  const number = (values) => values.filter((one) => one > values[place]).length + 1;
  return `${said}${now}${effects ? ` This place ranks ${number(under)} of ${under.length} by attention and ${number(effects)} by effect.` : ""}`;
}

const pinned = (which) => (state, answer) => Boolean(judged(state, answer)[which]?.right);

export default explorable("eraser", TABLE, {
  title: "The eraser",
  hint: "Drag the square over the photograph. The model answers again for each place: which patches does it need, and which does it look at?",
  goals: [
    { text: "1 \u00d7 1 square: pin A where attention is among the 8 highest, but erasing changes the answer by less than 2 percentage points.", reached: pinned(0) },
    { text: "1 \u00d7 1 square: pin B where attention is among the 32 lowest, but erasing costs the answer more than 5 percentage points.", reached: pinned(1) },
  ],
  open: (facts, redraw) => new Scene(facts, redraw),
  close: (things) => clearTimeout(things.timer),
  compute, view, words, paint,
});
