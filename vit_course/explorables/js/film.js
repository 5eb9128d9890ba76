// Three stored training runs of a small ViT on digits; dragging the line on their curves shows each epoch.

import TABLE from "./film.json" with { type: "json" };
import { explorable, handle, html, nothing, percent, strip, svg } from "./play.js";

const [EPOCHS, PICTURES, CLASSES, PATCHES, PIXELS, FILTERS] = [30, 8, 10, 16, 256, 16];
const RUNS = ["recipe", "high", "few"];
const WITHIN = 1.01; // of the lowest smoothed validation loss: these epochs count as the lowest
const NINE = 2; // the picture of the second goal
const COLOURS = ["var(--play-0)", "var(--play-1)"]; // of training and validation
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const two = (value) => value.toFixed(2);
const a = (digit) => `${digit === 8 ? "an" : "a"} ${digit}`;

function frame({ log, answers, shares, maps, moved, map_step, moved_steps }, run, epoch, picture) {
  // -> one epoch of one run: training loss, validation loss, rate and the two accuracies; the answers for the eight
  // pictures and their probabilities; the class token's map of one picture; how far the filters have moved.
  const at = RUNS.indexOf(run) * (EPOCHS + 1) + epoch;
  const part = (values, size) => values.subarray(at * size, (at + 1) * size);
  const given = [...part(answers, PICTURES)];
  const far = [...part(moved, FILTERS * PATCHES)].map((byte) => (byte - 128) * moved_steps[RUNS.indexOf(run)]);
  return {
    now: [...part(log, 5)],
    answers: given,
    probabilities: given.map((answer, p) => part(shares, PICTURES * CLASSES)[p * CLASSES + answer] / 255),
    weights: [...part(maps, PICTURES * PATCHES).subarray(picture * PATCHES, (picture + 1) * PATCHES)].map((byte) => byte * map_step),
    moved: Math.sqrt(mean(far.map((value) => value ** 2))),
    far,
  };
}

export function compute({ epoch, run, beside, picture }, things) {
  const all = Array.from({ length: EPOCHS + 1 }, (_, e) => frame(things, run, e, picture));
  const validation = all.map(({ now }) => now[1]);
  const smoothed = validation.map((_, e) => mean(validation.slice(Math.max(0, e - 1), e + 2)));
  const least = Math.min(...smoothed);
  const changes = (p) => all.flatMap(({ answers }, e) => (e && answers[p] !== all[e - 1].answers[p] ? [e] : [0]));
  const now = all[epoch];
  return {
    ...now,
    gap: now.now[1] - now.now[0],
    smoothed,
    lowest: smoothed.indexOf(least),
    near: smoothed.flatMap((value, e) => (value <= WITHIN * least ? [e] : [])),
    rises: smoothed[EPOCHS] / least,
    settles: now.answers.map((_, p) => Math.max(...changes(p))), // the epoch from which the answer stays the same
    beside: beside === "none" || beside === run ? [] : frame(things, beside, epoch, picture).now,
    all,
  };
}

// The chart: three panels above one another, with the same epochs.
const [WIDE, TALL, LEFT, RIGHT] = [600, 502, 44, 584];
const PANELS = { loss: [34, 240, 3], accuracy: [282, 362, 1], rate: [404, 440, 1] }; // top, bottom, and the value at the top
const across = (epoch) => LEFT + ((RIGHT - LEFT) * epoch) / EPOCHS;
const down = (panel, value) => {
  const [top, bottom, most] = PANELS[panel];
  return bottom - ((bottom - top) * Math.min(value, most * 1.03)) / most; // higher values are drawn at the upper edge
};

function curve(panel, values, colour, dashed, wide) {
  const points = values.map((value, epoch) => `${across(epoch).toFixed(1)},${down(panel, value).toFixed(1)}`).join(" ");
  return svg`<polyline points=${points} fill="none" stroke=${colour} stroke-width=${wide} stroke-linejoin="round" stroke-dasharray=${dashed ? "7 4" : "none"} />`;
}

function labelled(epoch, panel, rows) {
  // Labels beside the dots on the line, without overlap: the highest a little above its dot, the lowest below it.
  const [x, side] = epoch < 0.62 * EPOCHS ? [across(epoch) + 13, "start"] : [across(epoch) - 13, "end"];
  rows.sort((a, b) => a.y - b.y);
  const places = [];
  rows.forEach(({ y }, row) => places.push(Math.max((places[row - 1] ?? 0) + 20, y + (row ? (row === rows.length - 1 ? 16 : 5) : -5))));
  return rows.map(({ y, text, colour, ring, soft }, row) => svg`<circle cx=${across(epoch)} cy=${y} r=${soft ? 4 : 6} fill=${ring ? "var(--vit-paper)" : colour}
      stroke=${ring ? colour : "var(--vit-paper)"} stroke-width=${ring ? 3 : 1.5} /><text class="film-label" x=${x}
      y=${Math.min(places[row], PANELS[panel][1] - 4 - 20 * (rows.length - 1 - row))} text-anchor=${side} style="fill: ${soft ? "var(--vit-soft)" : colour}">${text}</text>`);
}

function chart(play, answer) {
  const { epoch, run, beside, marks } = play.state;
  const { runs, log } = play.things;
  const named = (name, column) => Array.from({ length: EPOCHS + 1 }, (_, e) => log[(RUNS.indexOf(name) * (EPOCHS + 1) + e) * 5 + column]);
  const other = answer.beside.length ? beside : null;
  const highest = Math.max(...named(run, 2)); // the rate has a scale of its own
  const panels = { loss: [0, two], accuracy: [3, percent] };
  const lines = Object.entries(panels).map(([panel, [column, said]]) => {
    const both = ["training", "validation"].map((part, i) => ({ part, i, at: column + i }));
    // The average over three epochs, by which over-fitting is judged.
    const mean = panel === "loss" && run === "few" ? curve(panel, answer.smoothed, COLOURS[1], false, 1.2) : nothing;
    const ghosts = other ? both.map(({ i, at }) => curve(panel, named(other, at), "var(--vit-edge)", i, 1.6)) : nothing;
    const rows = both.map(({ part, i, at }) => ({ y: down(panel, answer.now[at]), text: `${part} ${said(answer.now[at])}`, colour: COLOURS[i], ring: i === 1 }));
    if (other) rows.push({ y: down(panel, answer.beside[column + 1]), text: `${runs[other]}: validation ${said(answer.beside[column + 1])}`, colour: "var(--vit-edge)", ring: true, soft: true });
    return svg`${ghosts}${mean}${both.map(({ i, at }) => curve(panel, named(run, at), COLOURS[i], i, 2.6))}${labelled(epoch, panel, rows)}`;
  });
  const rate = answer.now[2] < 5e-5 ? "0" : answer.now[2].toFixed(highest < 0.01 ? 4 : 2);
  const frames = Object.values(PANELS).map(([top, bottom]) => svg`<path d="M ${LEFT} ${top} V ${bottom} H ${RIGHT}" fill="none" stroke="var(--vit-edge)" />`);
  const names = Object.entries({ loss: "loss", accuracy: "accuracy", rate: `learning rate ${rate}` }).map(([panel, text]) => svg`<text class="film-label" x=${LEFT} y=${PANELS[panel][0] - 9}>${text}</text>`);
  const tick = (panel, value, text) => svg`<text class="play-soft" x=${LEFT - 7} y=${down(panel, value) + 5} text-anchor="end">${text}</text>`;
  const marked = marks[RUNS.indexOf(run)];
  const x = across(epoch);
  return svg`<svg viewBox="0 0 ${WIDE} ${TALL}" class="film-chart" role="group" aria-label="Losses, accuracies and rate by epoch">
    ${frames}${[0, 1, 2, 3].map((value) => tick("loss", value, value))}${[0, 1].map((value) => tick("accuracy", value, `${100 * value}%`))}
    ${[0, 5, 10, 15, 20, 25, 30].map((e) => svg`<text class="play-soft" x=${e ? across(e) : 4} y="498" text-anchor=${e ? "middle" : "start"}>${e ? e : "epoch 0"}</text>`)}
    <line x1=${LEFT} x2=${RIGHT} y1=${down("loss", Math.LN10)} y2=${down("loss", Math.LN10)} stroke="var(--vit-soft)" stroke-dasharray="1.5 4" />
    ${epoch < 19 ? svg`<text class="play-soft film-guess" x=${RIGHT} y=${down("loss", Math.LN10) + 19} text-anchor="end">ln 10: guessing</text>` : svg`<text class="play-soft film-guess" x=${across(5)} y=${down("loss", Math.LN10) - 14}>ln 10: guessing</text>`}
    ${curve("rate", named(run, 2).map((rate) => rate / highest), "var(--vit-ink)", false, 2)}
    ${marked ? svg`<path d="M ${across(marked)} ${PANELS.loss[1]} V 12 l 15 7 l -15 7" fill="var(--vit-ink)" stroke="var(--vit-ink)" stroke-width="2" /><text class="film-label" x=${across(marked) + (marked > 22 ? -10 : 20)} y="24" text-anchor=${marked > 22 ? "end" : "start"}>your mark</text>` : nothing}
    ${handle({
      label: "epoch", text: `epoch ${epoch} of ${EPOCHS}: training loss ${two(answer.now[0])}, validation loss ${two(answer.now[1])}`,
      now: epoch, least: 0, most: EPOCHS, at: null, scrolls: true,
      move: play.moving((point) => ({ epoch: Math.round(Math.max(0, Math.min(1, (point.x - LEFT) / (RIGHT - LEFT))) * EPOCHS) })),
      step: (right, below) => play.set({ epoch: Math.max(0, Math.min(EPOCHS, play.state.epoch + right - below)) }), // keys may be faster than frames
    }, svg`<rect x="0" y="0" width=${WIDE} height=${TALL} fill="transparent" /><line x1=${x} x2=${x} y1="14" y2="450" stroke="var(--vit-ink)" stroke-width="3" />
      <path d="${epoch > 0 ? `M ${x - 23} 453 l -7 7 l 7 7 z` : ""} ${epoch < EPOCHS ? `M ${x + 23} 453 l 7 7 l -7 7 z` : ""}" fill="var(--vit-ink)" /><circle class="play-grip" cx=${x} cy="460" r="17" fill="var(--vit-ink)" /><text class="film-epoch" x=${x} y="466" text-anchor="middle">${epoch}</text>`)}
    <g pointer-events="none">${names}${lines}<circle cx=${x} cy=${down("rate", answer.now[2] / highest)} r="6" fill="var(--vit-ink)" stroke="var(--vit-paper)" stroke-width="1.5" /></g>
  </svg>`;
}

function pictures(play, answer, other) {
  const { labels, runs } = play.things;
  const one = (p) => {
    const right = answer.answers[p] === labels[p];
    const said = `${answer.answers[p]} ${percent(answer.probabilities[p])}`;
    return html`<button type="button" class="film-picture" aria-pressed=${String(play.state.picture === p)} @click=${() => play.set({ picture: p })}
      aria-label="digit ${p + 1}, ${a(labels[p])}: the model says ${said}"><canvas class=${right ? "" : "film-wrong"} width="16" height="16"></canvas>
      <span class="film-answer"><b>${answer.answers[p]}</b> ${percent(answer.probabilities[p])}</span><span>${right ? "right" : `wrong: a ${labels[p]}`}</span>${other ? html`<span class="film-other">${runs[play.state.beside]}: ${other.answers[p]} ${percent(other.probabilities[p])}</span>` : nothing}</button>`;
  };
  return html`<div class="film-pictures" role="group" aria-label="Eight validation digits and the answers">${labels.map((_, p) => one(p))}</div>`;
}

function inside(play, name, { weights, moved }, several) {
  // The attention map of the chosen picture, and the filters; with the run's name if two are shown.
  const { runs, labels, start } = play.things;
  const most = weights.indexOf(Math.max(...weights));
  const whose = several ? html`<b>${runs[name]}</b>: ` : nothing;
  return html`<div class="film-inside">
    <figure><div class="film-map"><canvas class="film-attention" data-run=${name} width="64" height="64"></canvas><svg viewBox="0 0 64 64" aria-hidden="true"
      ><rect x=${16 * (most % 4) + 0.75} y=${16 * Math.floor(most / 4) + 0.75} width="14.5" height="14.5" /></svg></div>
      <figcaption>${whose}attention of the class token to the ${labels[play.state.picture]}; the frame marks its highest share, <b>${percent(weights[most])}</b></figcaption></figure>
    <figure><canvas class="film-filters" data-run=${name} width="19" height="19"></canvas>
      <figcaption>${whose}16 filters of the patch embedding minus their random start: RMS <b>${two(moved)}</b> (at the start: ${two(start)})</figcaption></figure></div>`;
}

function view(state, answer, things, play) {
  const { epoch, run, beside, marks } = state;
  const other = answer.beside.length ? frame(things, beside, epoch, state.picture) : null;
  const mark = () => play.set({ marks: marks.map((one, r) => (RUNS[r] === run ? epoch : one)) });
  return html`<div class="play-row">
      ${strip(`${play.id}-run`, "Run", things.runs, run, (one) => play.set({ run: one, beside: beside === one ? "none" : beside }))}
      <span class="film-beside">compare ${strip(`${play.id}-beside`, "Compare with", { none: "nothing", ...Object.fromEntries(RUNS.filter((one) => one !== run).map((one) => [one, things.runs[one]])) }, other ? beside : "none", (one) => play.set({ beside: one }))}</span>
    </div>
    <p class="film-about">${things.about[run]}</p>
    <div class="play-body film-body"><div>${chart(play, answer)}<div class="play-row"><button type="button" ?disabled=${epoch === 0} @click=${mark}>Mark epoch ${epoch}</button></div></div>
      <div class="film-side">${pictures(play, answer, other)}<div class=${other ? "film-two" : ""}>${inside(play, run, answer, other)}${other ? inside(play, beside, other, other) : nothing}</div></div></div>`;
}

function put(canvas, colour) {
  const { width, height } = canvas;
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) image.data.set(colour(i % width, Math.floor(i / width)), 4 * i);
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function paint(root, state, answer, things) {
  const grey = (p, x, y) => things.images[p * PIXELS + 16 * y + x];
  root.querySelectorAll(".film-picture canvas").forEach((canvas, p) => put(canvas, (x, y) => [grey(p, x, y), grey(p, x, y), grey(p, x, y), 255]));
  for (const canvas of root.querySelectorAll(".film-inside canvas")) {
    const { weights, far } = canvas.dataset.run === state.run ? answer : frame(things, canvas.dataset.run, state.epoch, state.picture);
    if (canvas.className === "film-attention")
      put(canvas, (x, y) => {
        // A colour over a pale copy of the picture, on the same scale at every epoch, so that an even map looks even.
        const pale = 255 - 0.45 * grey(state.picture, x >> 2, y >> 2);
        const share = Math.min(1, weights[4 * (y >> 4) + (x >> 4)] / 0.4);
        return [pale + share * (217 - pale) * 0.85, pale + share * (95 - pale) * 0.85, pale + share * (2 - pale) * 0.85, 255];
      });
    else
      put(canvas, (x, y) => {
        if (x % 5 === 4 || y % 5 === 4) return [0, 0, 0, 0];
        const value = 128 + far[16 * (4 * Math.floor(y / 5) + Math.floor(x / 5)) + 4 * (y % 5) + (x % 5)] / things.moved_steps[RUNS.indexOf(canvas.dataset.run)];
        return [value, value, value, 255];
      });
  }
}

function judged({ run, marks }, { near, lowest, smoothed, rises, all, settles }) {
  // -> a sentence on whether the mark of this run is right, or "".
  const mark = marks[RUNS.indexOf(run)];
  if (!mark) return "";
  if (run === "recipe") {
    if (mark === settles[NINE]) return `Your mark, epoch ${mark}, is right: from here to the end, the model calls the 9 a 9.`;
    if (mark > settles[NINE]) return `Your mark, epoch ${mark}, is too late: the model called the 9 a 9 in the epoch before, and has done so ever since.`;
    const slip = all.findIndex(({ answers }, e) => e >= mark && answers[NINE] !== 9);
    return `Your mark, epoch ${mark}, is too early: in epoch ${slip} the model calls the 9 ${a(all[slip].answers[NINE])}.`;
  }
  if (rises < 1.05) return "There is no over-fitting to mark in this run: at the end, the averaged validation loss is less than 5 % above its lowest value.";
  if (near.includes(mark)) return `Your mark, epoch ${mark}, is right: the averaged validation loss is at its lowest here, to within 1 %: ${two(smoothed[mark])}. By epoch ${EPOCHS} it has risen to ${two(smoothed[EPOCHS])}, while the training loss has fallen to ${two(all[EPOCHS].now[0])}.`;
  return mark < lowest ? `Your mark, epoch ${mark}, is too early: the averaged validation loss falls further after it.` : `Your mark, epoch ${mark}, is too late: the averaged validation loss was lower before.`;
}

function words(state, answer, { labels }) {
  const { epoch, run, marks } = state;
  const right = answer.answers.filter((one, p) => one === labels[p]).length;
  const same = answer.answers.every((one) => one === answer.answers[0]);
  const since = Math.max(0, epoch - 5);
  const change = (name, part) => {
    const [from, to] = [answer.all[since].now[part], answer.now[part]].map(two);
    return `the ${name} loss ${from === to ? `stayed at ${to}` : `${Number(to) < Number(from) ? "fell" : "rose"} from ${from} to ${to}`}`;
  };
  const span = since ? "in the last five epochs" : `in the first ${["", "epoch", "two epochs", "three epochs", "four epochs", "five epochs"][epoch]}`;
  const said = epoch
    ? `Epoch ${epoch}: ${span} ${change("training", 0)} and ${change("validation", 1)}.`
    : `Before the first step both losses are close to ln 10 = 2.30: the model gives all ten digits about the same probability.`;
  const eight = same ? `The model calls each of the eight digits ${a(answer.answers[0])}.` : `The model reads ${["none of the", "one of the", "two of the", "three of the", "four of the", "five of the", "six of the", "seven of the", "all"][right]} eight digits correctly.`;
  const verdict = judged(state, answer);
  // The verdict comes first if this epoch is the marked one.
  return (marks[RUNS.indexOf(run)] === epoch ? [verdict, said, eight] : [said, eight, verdict]).join(" ");
}

export default explorable("film", TABLE, {
  title: "The film of a training run",
  hint: "Drag the line through 30 epochs of training and watch a small model learn to read digits. Choose a digit to see which patches it attends to.",
  goals: [
    {
      text: "Few images: mark the epoch at which over-fitting begins (the thin line, the validation loss averaged over three epochs, within 1 % of its lowest).",
      reached: ({ run, marks }, { near, rises }) => run === "few" && rises > 1.05 && near.includes(marks[2]),
    },
    { text: "The recipe: mark the epoch from which the model always calls the 9 a 9.", reached: ({ run, marks }, { settles }) => run === "recipe" && marks[0] === settles[NINE] },
  ],
  compute, view, words, paint,
});
