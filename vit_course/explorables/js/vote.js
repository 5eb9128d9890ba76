// The class predicted from every token of a photograph, at each step of the model; patches can be covered.

import TABLE from "./vote.json" with { type: "json" };
import { cropped, drag, explorable, handle, html, keys, nothing, percent, picture, strip, svg } from "./play.js";
import { softmax, TinyViT } from "./tiny_vit.js";

const STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const GRID = 8;
const FEW = 4; // grey patches that the goal allows
const WORDLESS = { rocket: "a rocket", coffee: "a cup of coffee", photographer: "a photographer" }; // none of the classes fits
const SHORT = { airplane: "plane", automobile: "auto" };
const [LEFT, STEP, LINE] = [72, 38.5, 46]; // the line through the model: x of its start, distance of its steps, y
const across = (step) => LEFT + STEP * step;
const after = (step) => (step ? `after the ${step % 2 ? "attention" : "MLP"} of block ${Math.floor((step - 1) / 2)}` : "before the first block");
const begun = (text) => text[0].toUpperCase() + text.slice(1);
const best = (values) => values.indexOf(Math.max(...values));
const patches = (covered) => covered.flatMap((row, r) => [...Array(GRID).keys()].filter((column) => (row >> column) & 1).map((column) => GRID * r + column));
const clear = (covered) => covered.every((row) => !row);

function open({ config, weights, pixels, photographs, cropped }) {
  const model = new TinyViT(config, weights);
  const size = pixels.length / photographs.length;
  const each = photographs.map((_, n) => pixels.subarray(n * size, (n + 1) * size));
  return { model, photographs, cropped, images: each.map((one) => model.normalise(one)), pictures: each.map((one) => picture(one, config.image_size)), last: {}, before: {}, cursor: 27 };
}

function run(covered, photograph, things) {
  // Runs the model only if the photograph or the covered patches have changed; its result holds all steps.
  const { model, photographs, images, last } = things;
  const key = `${photograph} ${covered}`;
  if (last.key === key) return last;
  const { tokens, outputs } = model.forward(model.covered(images[photographs.indexOf(photograph)], patches(covered)));
  // The stream before, between and after the branches, 2L + 1 of (T, D).
  const seen = [tokens[0], ...outputs.flatMap(({ attention }, layer) => [tokens[layer].map((value, i) => value + attention[i]), tokens[layer + 1]])];
  const heard = seen.map((one) => softmax(model.lens(one.subarray(0, model.config.hidden_dim)))); // of the class token
  const path = heard.map(best);
  things.last = { key, seen, path, settled: path.findLastIndex((word) => word !== path.at(-1)) + 1, end: heard.at(-1) };
  return things.last;
}

export function compute({ step, covered, photograph }, things) {
  // -> said (T), the class predicted from each token at the step; shares (K), the class token's probabilities; path
  // (2L + 1), its prediction at every step; settled, the first step from which on this is the final one; end (K), its
  // probabilities at the last step; `before`, the same with no patch covered.
  things.before[photograph] ??= run(TABLE.covered.usual, photograph, things).end;
  const { seen, path, settled, end } = run(covered, photograph, things);
  const { model } = things;
  const [logits, K] = [model.lens(seen[step]), model.config.num_classes];
  const said = Array.from({ length: logits.length / K }, (_, token) => best(logits.subarray(K * token, K * (token + 1))));
  return { said, shares: softmax(logits.slice(0, K)), path, settled, end, before: things.before[photograph] };
}

function line(play, { said, shares }, { model, photographs, pictures }) {
  // The line of steps through the model; the class token moves along it, with its prediction.
  const { step, marked, photograph } = play.state;
  const names = model.config.class_names;
  const put = (to) => ({ step: Math.max(0, Math.min(8, Math.round(to))) });
  const stop = (one) => svg`<circle cx=${across(one)} cy=${LINE} r="4" fill="var(--vit-paper)" stroke="var(--vit-ink)" stroke-width="1.5" />
    <text x=${across(one)} y=${LINE + 34} text-anchor="middle" class="play-soft">${one ? (one % 2 ? "att." : "MLP") : "start"}</text>`;
  const block = (n) => svg`<path d="M ${across(2 * n + 1) - 14} ${LINE + 39} v 4 h ${STEP + 28} v -4" fill="none" stroke="var(--vit-edge)" />
    <text x=${across(2 * n + 1.5)} y=${LINE + 57} text-anchor="middle">block ${n}</text>`;
  const flag = marked ? svg`<path d="M ${across(marked)} ${LINE + 12} l 7 10 h -14 z" fill="var(--play-1)" />` : nothing;
  const [word, wide] = [`${names[said[0]]} ${percent(shares[said[0]])}`, 212];
  const x = Math.max(wide / 2 + 2, Math.min(399 - wide / 2, across(step)));
  return html`<svg class="vote-line" viewBox="0 0 400 108" role="group" aria-label="The way through the model">
    <image href=${pictures[photographs.indexOf(photograph)]} y=${LINE - 26} width="52" height="52" role="img" aria-label="the photograph, 32 x 32 pixels: ${photograph}" />
    <path d="M 52 ${LINE} H ${across(8)}" stroke="var(--vit-ink)" stroke-width="1.5" />${STEPS.map(stop)}${[0, 1, 2, 3].map(block)}${flag}
    ${handle({
      label: "step through the model", text: `${after(step)}: the class token says ${word}`, now: step, least: 0, most: 8,
      at: { x: across(step), y: LINE }, move: play.moving(({ x: to }) => put((to - LEFT) / STEP)), step: (right, below) => play.set(put(step + right - below)),
    }, svg`<rect x=${x - wide / 2} y="0" width=${wide} height="24" rx="6" fill="var(--vit-ink)" /><circle cx=${across(step)} cy=${LINE} r="20" fill="transparent" />
      <path d="M ${across(step)} 22 V ${LINE}" stroke="var(--vit-ink)" stroke-width="2" /><circle class="play-grip" cx=${across(step)} cy=${LINE} r="11" fill="var(--vit-ink)" />
      <path class="vote-arrow" d="M ${across(step) - 6} ${LINE} h 12 m -3 -3 l 3 3 l -3 3 m -6 0 l -3 -3 l 3 -3" />
      <text class="vote-word" x=${x} y="16.5" text-anchor="middle">class token: ${word}</text>`)}</svg>`;
}

function photograph(play, { said }, { model, photographs, pictures, cursor }) {
  // The patches with their predicted classes; those that agree with the class token are framed.
  const { covered, photograph } = play.state;
  const side = 400 / GRID;
  const names = model.config.class_names;
  const put = (patch, grey) => ({ covered: play.state.covered.map((row, r) => (r !== Math.floor(patch / GRID) ? row : grey ? row | (1 << patch % GRID) : row & ~(1 << patch % GRID))) });
  const under = ({ x, y }) => (x >= 0 && y >= 0 && x < 400 && y < 400 ? GRID * Math.floor(y / side) + Math.floor(x / side) : null);
  const isGrey = (patch) => Boolean((play.state.covered[Math.floor(patch / GRID)] >> patch % GRID) & 1);
  let grey = null; // whether a drag covers or uncovers patches: the opposite of the first one's state
  const paint = (point, over) => {
    if (over) return play.keep();
    const patch = under(point);
    if (patch === null) return;
    grey ??= !isGrey(patch);
    play.things.cursor = patch;
    if (isGrey(patch) !== grey) play.set(put(patch, grey), false);
  };
  const pressed = (event) => {
    if (event.key === " " || event.key === "Enter") {
      play.set(put(cursor, !isGrey(cursor)));
      event.preventDefault();
    } else
      keys((right, below) => {
        const [row, column] = [Math.floor(cursor / GRID) + Math.sign(below), (cursor % GRID) + Math.sign(right)];
        play.things.cursor = GRID * Math.max(0, Math.min(GRID - 1, row)) + Math.max(0, Math.min(GRID - 1, column));
        play.schedule();
      })(event);
  };
  const cell = (_, patch) => {
    const [x, y, k] = [side * (patch % GRID), side * Math.floor(patch / GRID), said[patch + 1]];
    const word = SHORT[names[k]] ?? names[k];
    const agrees = k === said[0];
    const hidden = isGrey(patch) ? svg`<rect x=${x} y=${y} width=${side} height=${side} fill="rgb(${model.grey})" />
      <path class="vote-cross" d="M ${x} ${y} l ${side} ${side} m 0 ${-side} l ${-side} ${side}" />` : nothing;
    const frame = (colour, wide) => svg`<rect x=${x + 2} y=${y + 2} width=${side - 4} height=${side - 4} fill="none" stroke=${colour} stroke-width=${wide} />`;
    return svg`${hidden}${agrees ? [frame("var(--vit-paper)", 3), frame("var(--vit-ink)", 1.5)] : nothing}
      <rect x=${x + 6} y=${y + 17.5} width=${side - 12} height="15" rx="4" fill="var(--vit-paper)" fill-opacity="0.85" />
      <rect x=${x + 6} y=${y + 33.5} width=${side - 12} height="5" fill="var(--vote-${k})" />
      <text x=${x + side / 2} y=${y + 29.2} text-anchor="middle" class=${agrees ? "vote-agrees" : ""}>${word}</text>`;
  };
  const [x, y] = [side * (cursor % GRID), side * Math.floor(cursor / GRID)];
  const here = `Row ${Math.floor(cursor / GRID) + 1}, column ${(cursor % GRID) + 1}${isGrey(cursor) ? ", covered" : ""}, says ${names[said[cursor + 1]]}.`;
  return html`<svg class="vote-patches" viewBox="0 0 400 400" tabindex="0" role="application" aria-roledescription="photograph" @pointerdown=${drag(null, paint)} @keydown=${pressed}
    aria-label="${photograph}, 8 x 8 patches. Arrow keys choose a patch, the space bar covers it. ${here}">
    <image href=${pictures[photographs.indexOf(photograph)]} width="400" height="400" />${Array.from({ length: GRID * GRID }, cell)}
    <rect class="vote-cursor" x=${x + 1.5} y=${y + 1.5} width=${side - 3} height=${side - 3} /></svg>`;
}

function votes({ said, shares }, names) {
  // For each class, the class token's probability and the number of patches that predict it.
  const counts = names.map((_, k) => said.slice(1).filter((word) => word === k).length);
  const row = (k) => html`<tr class=${k === said[0] ? "vote-best" : ""}><th scope="row"><span class="vote-mark" style="background: var(--vote-${k})"></span>${names[k]}</th>
    <td><span class="vote-bar" style="width: calc(${shares[k].toFixed(4)} * (100% - 50px))"></span>${percent(shares[k])}</td>
    <td><span class="vote-bar vote-count" style="width: calc(${counts[k] / 64} * (100% - 30px)); background-color: var(--vote-${k})"></span>${counts[k]}</td></tr>`;
  return html`<table class="vote-table"><thead><tr><th scope="col">word</th><th scope="col">class token</th><th scope="col">patches, of 64</th></tr></thead>
    <tbody>${names.map((_, k) => row(k))}</tbody></table>`;
}

function view(state, answer, things, play) {
  const names = things.model.config.class_names;
  const labels = Object.fromEntries(things.photographs.map((name) => [name, name]));
  const mark = state.step && state.marked !== state.step;
  return html`<div class="play-row">${strip(`${play.id}-photograph`, "Photograph", labels, state.photograph, (one) => play.set({ photograph: one, marked: 0 }))}</div>${cropped(things.cropped[state.photograph])}
    <div class="vote-body">${line(play, answer, things)}
      <div class="play-row vote-buttons"><button type="button" ?disabled=${!mark} @click=${() => play.set({ marked: state.step })}>Mark this step</button>
      <button type="button" ?disabled=${clear(state.covered)} @click=${() => play.set({ covered: [...TABLE.covered.usual] })}>Uncover all patches</button></div>
      <div>${photograph(play, answer, things)}<p class="vote-key">On each patch its word. A frame: the same word as the class token. Crossed out: covered.</p></div>${votes(answer, names)}</div>`;
}

function words({ step, covered, marked, photograph }, { said, shares, path, settled, end, before }, { model }) {
  const names = model.config.class_names;
  const [word, grey] = [names[said[0]], patches(covered).length];
  const counts = names.map((_, k) => said.slice(1).filter((one) => one === k).length);
  const most = counts[said[0]] === Math.max(...counts) ? said[0] : best(counts);
  const agree = `${counts[said[0]]} of the 64 patches ${counts[said[0]] === 1 ? "agrees" : "agree"}`;
  const too = most === said[0] ? `${agree}; no word is more frequent.` : `${agree}; the most frequent word is ${names[most]}, on ${counts[most]}.`;
  const none = step === 8 && !grey && WORDLESS[photograph] ? ` The model knows only ten words, and none of them fits ${WORDLESS[photograph]}.` : "";
  const told = `${begun(after(step))}, the class token says ${word}, ${percent(shares[said[0]])}${step ? "" : ", for every photograph, because it has seen none yet"}. ${too}${none}`;
  const [was, is] = [best(before), best(end)];
  const one = `${grey} covered ${grey === 1 ? "patch" : "patches"}`;
  const by = grey && (is === was ? ` With ${one}, the final word is still ${names[is]}, ${percent(end[is])}; with none covered, ${percent(before[is])}.`
    : ` With ${one}, the final word changes from ${names[was]}, ${percent(before[was])}, to ${names[is]}, ${percent(end[is])}.`);
  const wrong = path.slice(marked).find((k) => k !== path.at(-1));
  const later = path.findLastIndex((k) => k !== path.at(-1));
  const flag = marked && (marked === settled ? ` Your mark is right: from there on it says ${names[path.at(-1)]}; one step earlier it said ${names[path[marked - 1]]}.`
    : wrong === undefined ? ` Your mark is too late: one step earlier it already says ${names[path.at(-1)]}.` : ` Your mark is too early: ${after(later)} it says ${names[path[later]]}.`);
  return `${told}${flag || ""}${by || ""}`;
}

export default explorable("vote", TABLE, {
  title: "The vote",
  hint: "Drag the large dot through the model to see what the class token, which gives the answer, would say at each step. Each patch shows its own word. Click patches, or drag across them, to cover them.",
  goals: [
    { text: "With no patch covered, mark the step at which the class token settles on its final word.", reached: ({ marked, covered }, { settled }) => clear(covered) && marked > 0 && marked === settled },
    { text: `On the coffee or the photographer, cover at most ${FEW} patches so that the final word changes.`, reached: ({ covered }, { end, before }) => patches(covered).length <= FEW && best(end) !== best(before) },
  ],
  open, compute, view, words,
});
