// Finds a part of one photograph in three others; and compares the accuracy of four ways to ten classes by labels.

import TABLE from "./matcher.json" with { type: "json" };
import { explorable, handle, html, nothing, strip, svg } from "./play.js";

const [PHOTOS, SIDE, KEPT] = [4, 16, 64]; // photographs, patches of a side, numbers kept of a token
const CELL = 20;
const ARROWS = "M 19 -7 l 8 7 l -8 7 z M -19 -7 l -8 7 l 8 7 z M -7 19 l 7 8 l 7 -8 z M -7 -19 l 7 -8 l 7 8 z";
const STEPS = 330; // of the number of labels: 100 * 10 ** (step / 100)
const WITHIN = 0.5; // percentage points within which two accuracies count as equal
const EYES = 2; // the goal: in how many of the three other photographs the best match must be an eye
const range = (count) => Array.from({ length: count }, (_, i) => i);
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
const sum = (values) => values.reduce((a, b) => a + b, 0);
const two = (value) => value.toFixed(2).replace("-", "\u2212");

function open(facts) {
  // The stored tokens have length 1 except for rounding; normalise them again.
  const { tokens, steps } = facts;
  const unit = Float64Array.from(tokens, (byte, i) => (byte - 128) * steps[i % KEPT]);
  for (let at = 0; at < unit.length; at += KEPT) {
    const row = unit.subarray(at, at + KEPT);
    const length = Math.sqrt(sum([...row].map((value) => value * value)));
    row.forEach((value, i) => (row[i] = value / length));
  }
  const sizes = [...new Set(Object.values(facts.runs).flatMap((run) => run.sizes))];
  return { ...facts, unit, sizes, names: Object.keys(facts.runs) };
}

function labelsOf(step, sizes) {
  return sizes.find((size) => Math.abs(100 * Math.log10(size / 100) - step) < 0.5) ?? 100 * 10 ** (step / 100);
}

function along(x, at, values) {
  // Interpolates linearly between points at x, and extrapolates the last line beyond them.
  const i = clamp(at.findIndex((one) => one >= x) < 0 ? at.length : at.findIndex((one) => one >= x), 1, at.length - 1) - 1;
  return values[i] + ((x - at[i]) / (at[i + 1] - at[i])) * (values[i + 1] - values[i]);
}

export function accuracyAt(run, labels, name) {
  // The linear head was run with few images only; beyond, it keeps its last values.
  const at = run.sizes.map(Math.log);
  const x = name === "linear head" ? Math.min(Math.log(labels), at.at(-1)) : Math.log(labels);
  return [along(x, at, run.mean), Math.exp(along(x, at, run.seconds.map(Math.log)))];
}

export function compute({ photo, patch, step }, { unit, runs, sizes, names }) {
  const asked = unit.subarray((SIDE * SIDE * photo + SIDE * patch[0] + patch[1]) * KEPT).subarray(0, KEPT);
  const similar = range(PHOTOS).map((p) =>
    range(SIDE * SIDE).map((n) => {
      let dot = 0;
      for (let c = 0, at = (SIDE * SIDE * p + n) * KEPT; c < KEPT; c++) dot += unit[at + c] * asked[c];
      return dot;
    }),
  );
  const labels = labelsOf(step, sizes);
  const found = names.slice(1).map((name) => accuracyAt(runs[name], labels, name));
  return {
    similar, labels,
    best: similar.map((values) => values.indexOf(Math.max(...values))),
    accuracy: found.map(([accuracy]) => accuracy),
    seconds: found.map(([, seconds]) => seconds),
  };
}

// Pointing.

const seen = (answer, things, photo) => range(PHOTOS).filter((p) => p !== photo && things.eyes[p].includes(answer.best[p]));

function lens(address, row, column) {
  // A patch enlarged with its neighbours; at the edge of the photograph it is not in the middle.
  const [y, x] = [row, column].map((at) => clamp(at - 1, 0, SIDE - 3));
  const at = (start) => `${((100 * start) / (SIDE - 3)).toFixed(2)}%`;
  return html`<span class="match-lens" aria-hidden="true" style="background-image: url(${address}); background-position: ${at(x)} ${at(y)}"
    ><span style="left: ${(100 * (column - x)) / 3}%; top: ${(100 * (row - y)) / 3}%"></span></span>`;
}

function photograph(play, answer, p) {
  const { photo, patch } = play.state;
  const { photographs } = play.things;
  const asks = p === photo;
  const [row, column] = asks ? patch : [Math.floor(answer.best[p] / SIDE), answer.best[p] % SIDE];
  const [x, y] = [CELL * column, CELL * row];
  const most = answer.similar[p][answer.best[p]];
  const within = (value) => clamp(Math.floor(value), 0, SIDE - 1);
  const frame = svg`<rect class="match-under" x=${x} y=${y} width=${CELL} height=${CELL} /><rect class="play-grip match-frame" x=${x} y=${y} width=${CELL} height=${CELL} />`;
  return html`<figure class=${asks ? "match-asks" : ""}><div class="match-photo"><img src=${play.things[`photo${p}`]} alt=${photographs[p]} draggable="false" />
      <canvas width=${SIDE} height=${SIDE} data-photo=${p} @click=${(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        play.set({ photo: p, patch: [within(((event.clientY - box.top) / box.height) * SIDE), within(((event.clientX - box.left) / box.width) * SIDE)] });
      }}></canvas>
      <svg viewBox="0 0 320 320" role=${asks ? "group" : "img"} aria-label=${asks ? `${photographs[p]}: what is searched for` : `${photographs[p]}: best match in row ${row}, column ${column}, ${two(most)}`}>
      ${asks ? handle({
        label: `the patch of ${photographs[p]} that is searched for`, text: `row ${row}, column ${column}`,
        now: SIDE * row + column, least: 0, most: SIDE * SIDE - 1, at: { x: x + CELL / 2, y: y + CELL / 2 },
        move: play.moving((to) => ({ patch: [within(to.y / CELL), within(to.x / CELL)] })),
        step: (right, below) => play.set({ patch: [below, right].map((far, axis) => clamp(play.state.patch[axis] + far, 0, SIDE - 1)) }),
      }, svg`<circle class="match-hit" cx=${x + CELL / 2} cy=${y + CELL / 2} r="30" />${frame}<path class="match-arrows" transform="translate(${x + CELL / 2} ${y + CELL / 2})" d=${ARROWS} />`) : frame}</svg></div>
      <figcaption>${lens(play.things[`photo${p}`], row, column)}<span><b>${photographs[p]}</b>${asks ? html`: drag the frame` : html`<br />similarity ${two(most)}${play.things.eyes[p].includes(answer.best[p]) ? html`<br />an eye` : nothing}`}</span></figcaption></figure>`;
}

function pointing(play, answer) {
  return html`<div class="match-photos">${range(PHOTOS).map((p) => photograph(play, answer, p))}</div>`;
}

// Counting.

const [WIDE, TALL, LEFT, RIGHT, TOP, BOTTOM] = [680, 430, 52, 664, 16, 376];
const across = (labels) => LEFT + ((RIGHT - LEFT) * 100 * Math.log10(labels / 100)) / STEPS;
const down = (accuracy) => BOTTOM - ((BOTTOM - TOP) * accuracy) / 100;
const COLOURS = ["var(--play-1)", "var(--play-0)", "var(--play-2)", "var(--play-3)"];
const MARKS = [(x, y) => `M ${x} ${y - 8} l 8 8 l -8 8 l -8 -8 z`, (x, y) => `M ${x - 6} ${y} a 6 6 0 1 0 12 0 a 6 6 0 1 0 -12 0`, (x, y) => `M ${x - 6} ${y - 6} h 12 v 12 h -12 z`, (x, y) => `M ${x} ${y - 7} l 7 12 h -14 z`];
const RUN = 1000; // labels: up to here three runs each, beyond it the older series with one run each
const number = (labels) => Number(labels.toPrecision(labels >= 1000 ? 2 : 3)).toLocaleString("en");
const known = (run, labels) => (labels > run.sizes.at(-1) ? "beyond" : run.sizes.includes(labels) ? "run" : "between");

function chart(play, answer) {
  const { runs, names } = play.things;
  const { step, marks } = play.state;
  const target = runs[names[0]].mean[0];
  const x = across(answer.labels);
  const pill = clamp(x, 64, WIDE - 64);
  const path = (points) => points.map(([labels, accuracy]) => `${across(labels)},${down(accuracy)}`).join(" ");
  const curves = names.map((name, i) => {
    const { sizes, mean, lowest, highest, runs: counts } = runs[name];
    const points = sizes.map((size, j) => [size, mean[j]]);
    const few = points.filter(([size]) => size <= RUN);
    const beyond = i > 1 ? [points.at(-1), [200000, accuracyAt(runs[name], 200000, name)[0]]] : [];
    return svg`<g stroke=${COLOURS[i]} fill="none"><polyline points=${path(few)} stroke-width="2.5" /><polyline points=${path(points.slice(few.length - 1))} stroke-width="2" stroke-dasharray="8 4" />
      <polyline points=${path(beyond)} stroke-width="2" stroke-dasharray="1.5 5" />
      ${sizes.map((size, j) => svg`<path d="M ${across(size)} ${down(lowest[j])} V ${down(highest[j])}" stroke-width="2" /><path d=${MARKS[i](across(size), down(mean[j]))} fill=${counts[j] > 1 ? COLOURS[i] : "var(--vit-paper)"} stroke-width="2" />`)}</g>`;
  });
  const rows = names.slice(1).map((name, i) => ({ name, i: i + 1, y: down(answer.accuracy[i]), kind: known(runs[name], answer.labels) })).filter(({ i, kind }) => i > 1 || kind !== "beyond").sort((a, b) => a.y - b.y);
  const left = x > 0.58 * WIDE;
  const places = [];
  for (const { y } of rows) places.push(Math.max(y + 5, (places.at(-1) ?? 0) + 26));
  const said = rows.map(({ name, i, y, kind }, row) => svg`<circle cx=${x} cy=${y} r="5" fill=${COLOURS[i]} stroke="var(--vit-paper)" stroke-width="1.5" />
    <text class="match-label" style="fill: ${COLOURS[i]}" x=${x + (left ? -14 : 14)} y=${places[row] + (left ? -8 : 8)} text-anchor=${left ? "end" : "start"}>${`${left ? name.replace(" from scratch", "") : name} ${kind === "run" ? "" : "\u2248 "}${answer.accuracy[i - 1].toFixed(0)} %`}</text>`);
  const flags = marks.map((mark, i) => {
    const at = LEFT + ((RIGHT - LEFT) * mark) / STEPS;
    const [turn, side] = at > 0.58 * WIDE ? [-1, "end"] : [1, "start"];
    const top = BOTTOM - 100 + 36 * i;
    return mark < 0 ? nothing : svg`<path d="M ${at} ${BOTTOM} V ${top} l ${14 * turn} 7 l ${-14 * turn} 7" stroke=${COLOURS[i + 2]} fill=${COLOURS[i + 2]} stroke-width="2" /><text class="match-label" style="fill: ${COLOURS[i + 2]}" x=${at + 20 * turn} y=${top + 14} text-anchor=${side}>${`${i ? "ViT" : "ConvNet"}: ${number(labelsOf(mark, play.things.sizes))}`}</text>`;
  });
  return svg`<svg viewBox="0 0 ${WIDE} ${TALL}" class="match-chart" role="group" aria-label="Test accuracy by number of labels">
    <path d="M ${LEFT} ${TOP} V ${BOTTOM} H ${RIGHT}" stroke="var(--vit-edge)" fill="none" />
    ${[0, 50, 100].map((value) => svg`<text class="play-soft" x=${LEFT - 7} y=${down(value) + 5} text-anchor="end">${value}%</text>`)}
    ${[100, 1000, 10000, 50000].map((size) => svg`<text class="play-soft" x=${across(size)} y=${BOTTOM + 22} text-anchor="middle">${size.toLocaleString("en")}</text>`)}
    <path d="M ${across(50000)} ${BOTTOM} V ${TOP}" stroke="var(--vit-line)" /><text x=${LEFT + 8} y=${TOP + 10}>test accuracy</text><text x=${RIGHT} y=${BOTTOM + 22} text-anchor="end">${x < 590 ? "labels" : ""}</text>
    <path d="M ${LEFT} ${down(target)} H ${RIGHT}" stroke=${COLOURS[0]} stroke-dasharray="1.5 4" stroke-width="2" />
    ${curves}${flags}
    ${handle({
      label: "number of labels", text: `${number(answer.labels)} labels: ${names.slice(1).map((name, i) => `${name} ${answer.accuracy[i].toFixed(0)} %`).join(", ")}`,
      now: step, least: 0, most: STEPS, at: null, scrolls: true,
      move: play.moving((point) => ({ step: clamp(Math.round(((point.x - LEFT) / (RIGHT - LEFT)) * STEPS), 0, STEPS) })),
      step: (right, below) => play.set({ step: clamp(play.state.step + right - below, 0, STEPS) }),
    }, svg`<rect x="0" y="0" width=${WIDE} height=${TALL} fill="transparent" /><line x1=${x} x2=${x} y1=${TOP} y2=${BOTTOM + 28} stroke="var(--vit-ink)" stroke-width="2.5" />
      <rect class="play-grip" x=${pill - 62} y=${BOTTOM + 26} width="124" height="28" rx="14" fill="var(--vit-ink)" />
      <path d="M ${pill - 46} ${BOTTOM + 34} l -6 6 l 6 6 z M ${pill + 46} ${BOTTOM + 34} l 6 6 l -6 6 z" fill="var(--vit-paper)" /><text class="match-pill" x=${pill} y=${BOTTOM + 46} text-anchor="middle">${number(answer.labels)}</text>`)}
    <g pointer-events="none"><text class="match-label match-end" x=${RIGHT} y=${TOP + 10} text-anchor="end">CIFAR-10 ends at 50,000</text><text class="match-label" style="fill: ${COLOURS[0]}" x=${LEFT + 8} y=${down(target) - 12}>${`fine-tuned on 500: ${target.toFixed(0)} %`}</text>${said}</g></svg>`;
}

function bill(play, answer) {
  // A table of accuracy and cost at the chosen number of labels, with a row for each contender.
  const { runs, names, multiply_adds: costs } = play.things;
  const time = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} min`);
  const row = (name, i) => {
    const run = runs[name];
    const labels = i ? answer.labels : run.sizes[0];
    const kind = known(run, labels);
    const j = run.sizes.indexOf(labels);
    const accuracy = i ? answer.accuracy[i - 1] : run.mean[0];
    const about = kind === "run" ? "" : "\u2248 ";
    const spread = j < 0 ? "" : run.runs[j] > 1 ? `${run.lowest[j].toFixed(1)} to ${run.highest[j].toFixed(1)}` : "one run";
    const none = i === 1 && kind === "beyond";
    return html`<tr><th scope="row"><svg class="match-mark" viewBox="0 0 16 16" aria-hidden="true"><path d=${MARKS[i](8, 8)} fill=${COLOURS[i]} /></svg>${name}${i ? "" : " on 500"}</th>
      <td>${none ? "not run" : html`<b>${about}${accuracy.toFixed(1)} %</b>`}<span>${none ? "" : spread || (kind === "beyond" ? "extrapolated" : "interpolated")}</span></td>
      <td>${kind === "beyond" ? "\u2013" : `${about}${time(i ? answer.seconds[i - 1] : run.seconds[0])}`}</td><td>${costs[name].toLocaleString("en", { minimumFractionDigits: 1 })} M</td></tr>`;
  };
  return html`<table class="match-bill"><thead><tr><th scope="col">${number(answer.labels)} labels</th><th scope="col">accuracy</th><th scope="col">training time, one core</th><th scope="col">multiply-adds per image</th></tr></thead>
    <tbody>${names.map(row)}</tbody></table>`;
}

function counting(play, answer) {
  const mark = (which) => play.set({ marks: play.state.marks.map((one, i) => (i === which ? play.state.step : one)) });
  return html`<div class="play-body match-count"><div>${chart(play, answer)}
      <div class="play-row"><button type="button" @click=${() => mark(0)}>Mark: the ConvNet catches up here</button><button type="button" @click=${() => mark(1)}>Mark: the ViT catches up here</button></div></div>
    ${bill(play, answer)}</div>`;
}

function view(state, answer, things, play) {
  return html`<div class="play-row">${strip(`${play.id}-part`, "What to do", { point: "point at a part", count: "count the labels" }, state.part, (part) => play.set({ part }))}
      ${state.part === "point" ? html`<span class="match-choice">search for a part of ${strip(`${play.id}-photo`, "Search for a part of", { ...things.photographs.map((one) => one.replace("the ", "")) }, String(state.photo), (p) => play.set({ photo: Number(p) }))}</span>` : nothing}</div>
    ${state.part === "point" ? pointing(play, answer) : counting(play, answer)}`;
}

function paint(root, { photo }, answer) {
  // Dark where a patch is unlike the one that is searched for.
  for (const canvas of root.querySelectorAll("[data-photo]")) {
    const p = Number(canvas.dataset.photo);
    const image = new ImageData(SIDE, SIDE);
    if (p !== photo) answer.similar[p].forEach((value, n) => (image.data[4 * n + 3] = 255 * 0.78 * (1 - clamp((value - 0.3) / 0.6, 0, 1))));
    canvas.getContext("2d").putImageData(image, 0, 0);
  }
}

function judged(which, { marks }, { runs, names, sizes }) {
  // -> a sentence on the mark of one contender.
  const [name, target] = [names[which + 2], runs[names[0]].mean[0]];
  const labels = labelsOf(marks[which], sizes);
  const off = accuracyAt(runs[name], labels, name)[0] - target;
  const times = `about ${Number((labels / 500).toPrecision(2))} times as many labels`;
  if (Math.abs(off) > WITHIN) return `At your mark, ${number(labels)} labels, the ${name} is ${Math.abs(off).toFixed(1)} points ${off < 0 ? "below" : "above"} the fine-tuned network.`;
  return known(runs[name], labels) === "beyond"
    ? `At your mark, ${number(labels)} labels, the ${name} would catch up, with ${times}. This is a guess: CIFAR-10 has no more than 50,000 training images, and accuracy does not keep rising in a straight line.`
    : `At your mark, ${number(labels)} labels, the ${name} catches up with the network fine-tuned on 500. It needs ${times}. The mark lies on a straight line between the runs with 10,000 and 50,000.`;
}

function words(state, answer, things) {
  const { photographs, names, runs } = things;
  if (state.part === "count") {
    const said = state.marks.map((mark, i) => (mark === state.step ? judged(i, state, things) : "")).filter(Boolean); // marks here
    if (said.length) return said.join(" ");
    const [head, net, vit] = answer.accuracy.map((one) => `${one.toFixed(0)} %`);
    const last = known(runs[names[1]], answer.labels) === "beyond" ? `The linear head was run with at most 1,000 labels and reached ${head}.` : `A linear head on the frozen pretrained network reaches ${head}.`;
    return `With ${number(answer.labels)} labels, the ConvNet from scratch reaches ${net} and the ViT from scratch ${vit}. ${last} The network fine-tuned on 500 labels reaches ${runs[names[0]].mean[0].toFixed(0)} %.`;
  }
  const others = range(PHOTOS).filter((p) => p !== state.photo);
  const best = others.map((p) => `${photographs[p]} ${two(answer.similar[p][answer.best[p]])}`).join(", ");
  const eyes = seen(answer, things, state.photo).map((p) => photographs[p]);
  const found = eyes.length ? `${["", "One", "Two", "All three"][eyes.length]} of them ${eyes.length > 1 ? "are eyes" : "is an eye"}: ${eyes.join(", ")}.` : "None of them is an eye.";
  return `Cosine similarity of your patch to its best match in each photograph: ${best}. ${found}`;
}

const caught = (which) => (state, _answer, { runs, names, sizes }) => {
  const accuracy = accuracyAt(runs[names[which + 2]], labelsOf(state.marks[which], sizes), names[which + 2])[0];
  return state.part === "count" && state.marks[which] >= 0 && Math.abs(accuracy - runs[names[0]].mean[0]) <= WITHIN;
};

export default explorable("matcher", TABLE, {
  title: "The matcher",
  hint: "Point: drag the frame over a photograph. In the others, bright patches are similar to yours, and a frame marks the best match. Count: drag the line.",
  goals: [
    { text: "Point: find a patch whose best match is an eye in two of the three other photographs.", reached: (state, answer, things) => state.part === "point" && seen(answer, things, state.photo).length >= EYES },
    { text: "Count: mark how many labels a ConvNet from scratch needs to match the network fine-tuned on 500 (within 0.5 points).", reached: caught(0) },
    { text: "Count: mark the same for the ViT from scratch, with its last line extended.", reached: caught(1) },
  ],
  open, compute, view, words, paint,
  close: (things) => range(PHOTOS).forEach((p) => URL.revokeObjectURL(things[`photo${p}`])),
});
