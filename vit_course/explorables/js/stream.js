// A photograph's residual stream as a river through four blocks: each branch adds to it, and has a valve.

import TABLE from "./stream.json" with { type: "json" };
import { cropped, explorable, handle, html, nothing, percent, picture, strip, svg } from "./play.js";
import { numbers, TinyViT } from "./tiny_vit.js";

const VALVES = ["closed", "mean", "open"];
const NAMES = ["attention", "MLP"];
const TURN = { open: 0, mean: 45, closed: 90 }; // degrees of a valve's lever against the pipe
const LAYERS = [0, 1, 2, 3];
const WORDLESS = { rocket: "a rocket", coffee: "a cup of coffee" }; // photographs of none of the model's classes
const NOTHING = 0.02; // a smaller change of the answer's probability counts as none
// The drawing: x of the river's start, the length of a block; y of the river and of the valves; the width of a stream
// whose tokens have length 1.
const [START, SPAN, RIVER, PIPES, WIDE] = [64, 78, 104, [48, 160], 5];

function open({ config, weights, pixels, photographs, cropped, means, centres, directions }) {
  const model = new TinyViT(config, weights);
  const each = photographs.map((_, n) => pixels.subarray((n * pixels.length) / photographs.length, ((n + 1) * pixels.length) / photographs.length));
  const images = each.map((one) => model.normalise(one));
  const pictures = each.map((one) => picture(one, config.image_size));
  return { model, photographs, cropped, images, pictures, means: numbers(means), centres: numbers(centres), directions: numbers(directions), before: {} };
}

function length(tokens, D) {
  // (T, D) -> the mean length of the tokens
  let sum = 0;
  for (let from = 0; from < tokens.length; from += D) {
    let square = 0;
    for (let i = from; i < from + D; i++) square += tokens[i] * tokens[i];
    sum += Math.sqrt(square);
  }
  return (sum * D) / tokens.length;
}

function coloured(tokens, D, centre, directions) {
  // (T, D) -> (N, 3), from 0 to 1: the coordinates of the patch tokens, scaled to length 1, along three directions.
  return Array.from({ length: tokens.length / D - 1 }, (_, patch) => {
    const token = tokens.subarray((patch + 1) * D, (patch + 2) * D);
    const long = length(token, D);
    const along = (c) => token.reduce((sum, value, i) => sum + (value / long - centre[i]) * directions[c * D + i], 0);
    return [0, 1, 2].map((c) => Math.max(0, Math.min(1, 0.5 + along(c) / 0.9)));
  });
}

function run(valves, which, { model, images, means, centres, directions }) {
  const D = model.config.hidden_dim;
  const table = means.length / 8; // T * D
  const { logits, probabilities, tokens, outputs } = model.forward(images[which], {
    branch(layer, name, output) {
      const part = Number(name === "mlp");
      if (valves[layer][part] === "closed") output.fill(0);
      if (valves[layer][part] === "mean") return means.subarray((2 * layer + part) * table, (2 * layer + part + 1) * table);
    },
  });
  const between = LAYERS.map((layer) => tokens[layer].map((value, i) => value + outputs[layer].attention[i]));
  const centre = (stage) => centres.subarray((which * tokens.length + stage) * D, (which * tokens.length + stage + 1) * D);
  return {
    logits, probabilities,
    lengths: [length(tokens[0], D), ...LAYERS.flatMap((layer) => [length(between[layer], D), length(tokens[layer + 1], D)])],
    added: outputs.flatMap(({ attention, mlp }) => [length(attention, D), length(mlp, D)]),
    colours: tokens.map((one, stage) => coloured(one, D, centre(stage), directions.subarray(3 * which * D, 3 * (which + 1) * D))),
  };
}

export function compute({ valves, photograph }, things) {
  // -> logits and probabilities (K); mean lengths of the tokens in the stream (2L + 1), and of what the branches add
  // (2L); the patch tokens' colours (L + 1, N, 3); and `before`: the same with all valves open.
  const which = things.photographs.indexOf(photograph);
  things.before[photograph] ??= run(TABLE.valves.usual, which, things);
  return { ...run(valves, which, things), before: things.before[photograph] };
}

const best = (values) => values.indexOf(Math.max(...values));
const turned = (valves) => LAYERS.flatMap((layer) => [0, 1].filter((part) => valves[layer][part] !== "open").map((part) => [layer, part]));
const each = (what) => LAYERS.map((layer) => [0, 1].map((part) => what(layer, part)));
const along = (stage) => START + (SPAN * stage) / 2; // of the 2L + 1 stages of the stream

function riverside(lengths, side) {
  // The path of one bank of the river, from the first stage to the last.
  const at = (stage) => RIVER + (side * WIDE * lengths[stage]) / 2;
  return lengths.slice(1).map((_, n) => `C ${along(n) + 20} ${at(n)} ${along(n + 1) - 20} ${at(n + 1)} ${along(n + 1)} ${at(n + 1)}`);
}

function river(lengths) {
  const end = along(8);
  const back = [...lengths.keys()].reverse().map((stage) => `L ${along(stage)} ${RIVER + (WIDE * lengths[stage]) / 2}`);
  return svg`<path class="stream-river" d="M 58 ${RIVER - (WIDE * lengths[0]) / 2} H ${START} ${riverside(lengths, -1).join(" ")} ${back.join(" ")} H 58 Z" />
    <path class="stream-river" d="M ${end + 2} ${RIVER - 15} l 15 15 l -15 15 z" />`;
}

const middle = (layer, part) => along(2 * layer + part) + SPAN / 4; // of a branch

function pipe({ valves }, { added }, layer, part) {
  // A branch, from the river and back to it, with a width in proportion to the mean length of what it adds.
  const [x, y, now] = [middle(layer, part), PIPES[part], valves[layer][part]];
  return svg`<path class="stream-pipe" d="M ${x - 16} ${RIVER} C ${x - 16} ${y} ${x - 14} ${y} ${x} ${y} S ${x + 16} ${y} ${x + 16} ${RIVER}"
    stroke-width=${now === "closed" ? 2 : Math.max(2, WIDE * added[2 * layer + part])} stroke="var(--play-${part ? 1 : 2})" stroke-dasharray=${{ open: "none", mean: "5 3", closed: "2 4" }[now]} />`;
}

function valve(play, layer, part) {
  // A valve, turned by a drag, by the arrow keys, or by clicks: open, closed, mean, and open again.
  const { valves } = play.state;
  const [x, y, now] = [middle(layer, part), PIPES[part], valves[layer][part]];
  const put = (value) => ({ valves: valves.map((row, l) => row.map((one, p) => (l === layer && p === part ? value : one))) });
  let [from, moved] = [null, false];
  const move = (point, over) => {
    if (over) return moved ? play.keep() : play.set(put(VALVES[(VALVES.indexOf(now) + 1) % 3]));
    from ??= point;
    moved ||= Math.hypot(point.x - from.x, point.y - from.y) > 5;
    const angle = (Math.atan2(Math.abs(point.y - y), Math.abs(point.x - x)) * 180) / Math.PI;
    if (moved) play.set(put(angle < 22.5 ? "open" : angle < 67.5 ? "mean" : "closed"), false);
  };
  const step = (right, below) => play.set(put(VALVES[Math.max(0, Math.min(2, VALVES.indexOf(now) + Math.sign(right - below)))]));
  const [name, side] = [`${NAMES[part]} ${layer}`, part ? 1 : -1];
  return svg`<circle class="stream-plus" cx=${x + 16} cy=${RIVER} r="6" /><path class="stream-sign" d="M ${x + 12.5} ${RIVER} h 7 m -3.5 -3.5 v 7" />
    ${handle({
      label: `valve of ${name}`, text: now === "mean" ? "replaced by its mean" : now, now: VALVES.indexOf(now), least: 0, most: 2, move, step,
    }, svg`<rect x=${x - 19} y=${y - 19} width="38" height="38" fill="transparent" /><circle class="play-grip stream-valve" cx=${x} cy=${y} r="13" />
      <path class="stream-lever" d="M ${x - 16} ${y} h 32" transform="rotate(${-TURN[now]} ${x} ${y})" />`)}
    <text x=${x} y=${y + side * 37 + 4} text-anchor="middle">${name}</text>
    <text x=${x} y=${y + side * 25 + 4} text-anchor="middle" class=${now === "open" ? "play-soft" : "stream-turned"}>${now}</text>`;
}

function tokens(colours, lengths, stage) {
  // The patch tokens as a picture below the river, 8 x 8 squares.
  const [left, top, side] = [START + SPAN * stage - 30, 212, 7.5];
  const said = `${stage ? `after block ${stage - 1}` : "before the first block"}: the patch tokens as colours, mean length ${lengths[2 * stage].toFixed(1)}`;
  const square = ([r, g, b], n) => svg`<rect x=${left + side * (n % 8)} y=${top + side * Math.floor(n / 8)} width=${side + 0.2} height=${side + 0.2} fill="rgb(${255 * r} ${255 * g} ${255 * b})" />`;
  return svg`<path d="M ${left + 30} ${RIVER + 12} V ${top - 4}" stroke="var(--vit-edge)" stroke-dasharray="1 3" />
    <g role="img" aria-label=${said} shape-rendering="crispEdges">${colours[stage].map(square)}</g>
    <text x=${left + 30} y=${top + 74} text-anchor="middle">${stage ? `block ${stage - 1}` : "input"}</text>
    <text x=${left + 30} y=${top + 87} text-anchor="middle" class="play-soft">length ${lengths[2 * stage].toFixed(1)}</text>`;
}

function logits({ logits, probabilities, before }, names) {
  // A bar for each class, from 0 to its logit, with a mark at the logit with all valves open.
  const [word, at] = [best(probabilities), (value) => 100 * Math.max(0, Math.min(1, (value + 3) / 8))];
  const row = (k) => html`<tr class=${k === word ? "stream-best" : ""}><th scope="row">${k === word ? "\u25b8 " : nothing}${names[k]}</th>
    <td class="stream-track"><span class="stream-zero" style="left: ${at(0)}%"></span>
      <span class="stream-bar" style="left: ${at(Math.min(0, logits[k]))}%; width: ${Math.abs(at(logits[k]) - at(0))}%"></span>
      <span class="stream-mark" style="left: ${at(before.logits[k])}%"></span></td>
    <td>${logits[k].toFixed(1).replace("-", "\u2212")}</td><td>${percent(probabilities[k])}</td></tr>`;
  return html`<table class="stream-logits"><thead><tr><th scope="col">word</th><th scope="col">logit (line: all valves open)</th><td></td><th scope="col">probability</th></tr></thead>
    <tbody>${names.map((_, k) => row(k))}</tbody></table>`;
}

function view(state, answer, { model, photographs, pictures, cropped: parts }, play) {
  const { lengths, colours } = answer;
  const labels = Object.fromEntries(photographs.map((name) => [name, name]));
  return html`<div class="play-row">${strip(`${play.id}-photograph`, "Photograph", labels, state.photograph, (one) => play.set({ photograph: one }))}
      <button type="button" ?disabled=${!turned(state.valves).length} @click=${() => play.set({ valves: structuredClone(TABLE.valves.usual) })}>Open all valves</button></div>${cropped(parts[state.photograph])}
    <div class="stream-body"><figure><svg class="stream-flow" viewBox="0 0 412 302" role="group" aria-label="The stream from the photograph through four blocks">
        <image href=${pictures[photographs.indexOf(state.photograph)]} x="0" y=${RIVER - 29} width="58" height="58" role="img" aria-label="the photograph, 32 x 32 pixels: ${state.photograph}" />
        ${each((layer, part) => pipe(state, answer, layer, part))}${river(lengths)}${each((layer, part) => valve(play, layer, part))}
        ${colours.map((_, stage) => tokens(colours, lengths, stage))}</svg>
        <figcaption>Squares: the patch tokens in the stream; similar tokens have similar colours. Length: the mean over all tokens</figcaption></figure>
      ${logits(answer, model.config.class_names)}</div>`;
}

function words({ valves, photograph }, { probabilities, before, lengths }, { model }) {
  const names = model.config.class_names;
  const [was, is] = [best(before.probabilities), best(probabilities)];
  const which = turned(valves);
  if (!which.length) {
    const none = WORDLESS[photograph] ? ` None of its ten words fits ${WORDLESS[photograph]}.` : "";
    return `All valves are open: the model says ${names[was]}, ${percent(before.probabilities[was])}.${none} Which of the eight branches does it need for that?`;
  }
  const one = ([layer, part]) => `${NAMES[part]} ${layer} ${valves[layer][part] === "mean" ? "replaced by its mean" : "closed"}`;
  const how = which.length > 2 ? `${which.length === 8 ? "all" : `${which.length} of the`} 8 valves turned` : which.map(one).join(" and ");
  const change = probabilities[was] - before.probabilities[was];
  const then = percent(before.probabilities[was]);
  const same = Math.abs(change) < NOTHING ? `about as before (${then})` : `${change > 0 ? "up" : "down"} from ${then}`;
  const answer = is === was
    ? `the model still says ${names[is]}: ${percent(probabilities[is])}, ${same}`
    : `the model says ${names[is]}, ${percent(probabilities[is])}; ${names[was]} ${change < 0 ? "falls" : "rises"} from ${then} to ${percent(probabilities[was])}`;
  return `With ${how}, ${answer}. After the last block the mean length is ${lengths[8].toFixed(1)} (${before.lengths[8].toFixed(1)} with all valves open).`;
}

const alone = ({ photograph, valves }) => photograph === "cat" && turned(valves).length === 1;

export default explorable("stream", TABLE, {
  title: "The stream",
  hint: "Click a valve to close its branch; click again to replace it by its mean over many images. You can also drag its lever, or use Tab and the arrow keys.",
  goals: [
    { text: "On the cat, turn a single valve so that another word wins.", reached: (state, { probabilities, before }) => alone(state) && best(probabilities) !== best(before.probabilities) },
    {
      text: `On the cat, turn a single valve with almost no effect: the same word wins, its probability within ${100 * NOTHING} percentage points. (A mean does less harm than a closed valve.)`,
      reached: (state, { probabilities: now, before: { probabilities: was } }) => alone(state) && best(now) === best(was) && Math.abs(now[best(now)] - was[best(was)]) < NOTHING,
    },
  ],
  open, compute, view, words,
});
