// A ViT whose sizes can be dragged at its edges; shows its parameters, multiply-adds and memory by part.

import TABLE from "./builder.json" with { type: "json" };
import { explorable, handle, html, nothing, percent, strip, svg } from "./play.js";

const PARTS = ["patch embedding", "class token, positions", "attention, linear layers", "attention, products", "MLP", "norms", "head"];
const COLOURS = ["var(--vit-edge)", "var(--vit-edge)", "var(--play-0)", "var(--play-3)", "var(--play-1)", "var(--vit-edge)", "var(--vit-edge)"];
const [CLASSES, CHANNELS, HEAD, BATCH] = [1000, 3, 64, 32]; // HEAD: d, the numbers of a head
// Bytes: of a parameter in training with AdamW (itself, gradient, two moments), and of a number that the forward pass keeps.
const [BYTES, KEPT, OPEN] = [16, 4, 128]; // up to OPEN tokens all attention weights are kept
const SIZES = ["hidden_dim", "num_layers", "mlp_dim", "patch_size"];
const QUANTITIES = {
  parameters: { title: "parameters", unit: " M", one: 1e6, axis: [0.1e6, 2e9] },
  multiply_adds: { title: "multiply-adds for one image", unit: " G", one: 1e9, axis: [0.05e9, 10000e9] },
  memory: { title: `memory to train, ${BATCH} images at a time`, unit: " GB", one: 1e9, axis: [0.1e9, 1000e9] },
};
const sum = (values) => values.reduce((a, b) => a + b, 0);
const clamp = (x, least, most) => Math.max(least, Math.min(most, x));
const number = (n) => n.toLocaleString("en-US");
const three = (x) => (x === 0 ? "0" : x >= 100 ? number(Math.round(x)) : x >= 0.0995 ? x.toPrecision(3) : x.toPrecision(2));
const times = (x) => (x < 0.0995 ? x.toPrecision(1) : x < 9.95 ? x.toFixed(2) : number(Math.round(x)));

export function compute({ hidden_dim: D, num_layers: L, mlp_dim: M, patch_size: P, image_size }, { models }) {
  const [patches, heads] = [(image_size / P) ** 2, D / HEAD];
  const [T, area] = [patches + 1, P * P * CHANNELS];
  const parameters = [area * D + D, D + T * D, L * (4 * D * D + 4 * D), 0, L * (2 * D * M + M + D), (2 * L + 1) * 2 * D, (D + 1) * CLASSES];
  const multiply_adds = [patches * area * D, 0, L * T * 4 * D * D, L * 2 * T * T * D, L * T * 2 * D * M, 0, D * CLASSES];
  // Numbers of one image that are kept for the backward pass, as counted in chapter 04.
  const kept = [CHANNELS * image_size ** 2, 0, L * 2 * T * D, L * (3 * T * D + heads * (T <= OPEN ? T * T : T)), L * (T * D + 2 * T * M), (2 * L + 1) * (T * D + 2 * T), T * D];
  const memory = parameters.map((n, part) => BYTES * n + KEPT * BATCH * kept[part]);
  const sizes = { hidden_dim: D, num_layers: L, mlp_dim: M, patch_size: P };
  const model = image_size === 224 ? Object.keys(models ?? {}).find((name) => SIZES.every((size) => models[name][size] === sizes[size])) ?? "" : "";
  return { parameters, multiply_adds, memory, totals: [parameters, multiply_adds, memory].map(sum), patches, tokens: T, heads, model };
}

function open(facts) {
  const totals = Object.entries(facts.models).map(([name, sizes]) => [name, compute({ ...sizes, image_size: 224 }, {}).totals]);
  return { ...facts, marks: Object.fromEntries(totals) };
}

function grip(x, y, turn) {
  return svg`<circle cx=${x} cy=${y} r="19" fill="transparent" /><circle class="play-grip build-grip" cx=${x} cy=${y} r="9.5" />
    <path class="build-arrow" transform="translate(${x} ${y}) rotate(${turn})" d="M -5.5 0 H 5.5 M -3 -2.5 L -5.5 0 L -3 2.5 M 3 -2.5 L 5.5 0 L 3 2.5" />`;
}

function image(play, { patches }) {
  // The photograph and its patches, as in chapter 01.
  const { patch_size, image_size } = play.state;
  const scale = 224 / image_size; // of the drawing, which has the same width for every image
  const sides = TABLE.patch_size.choices;
  const side = patch_size * scale;
  const lines = Array.from({ length: image_size / patch_size - 1 }, (_, i) => `M ${(i + 1) * side} 0 V 224 M 0 ${(i + 1) * side} H 224`).join(" ");
  const nearest = ({ x, y }) => {
    const off = (one) => Math.abs(Math.log((2 * one * scale) / Math.max(4, x + y)));
    return { patch_size: sides.reduce((a, b) => (off(b) < off(a) ? b : a)) };
  };
  return html`<svg viewBox="0 0 224 224" role="group" aria-label="The image and its patches"><image href=${play.things.photograph} width="224" height="224" />
    <path d=${lines} stroke="#17181c" stroke-opacity="0.5" stroke-width=${side < 14 ? 0.6 : 1.4} /><path d=${lines} stroke="#fff" stroke-width=${side < 14 ? 0.35 : 0.8} />
    <rect width=${side} height=${side} fill="none" stroke="#fff" stroke-width="4.4" /><rect width=${side} height=${side} fill="none" stroke="#17181c" stroke-width="2.2" />
    ${handle({
      label: "side of a patch", text: `${patch_size} pixels: ${patches} patches`, now: patch_size, least: sides[0], most: sides.at(-1), at: { x: side, y: side },
      move: play.moving(nearest), step: (right, below) => play.set({ patch_size: sides[clamp(sides.indexOf(play.state.patch_size) + right + below, 0, sides.length - 1)] }),
    }, svg`${grip(side, side, 45)}<text class="build-on" x=${side + 14} y=${Math.max(14, side - 4)}>P = ${patch_size}</text>`)}</svg>`;
}

// The tower: each layer is a bar as wide as a token (attention) and one as wide as the MLP; below it the tokens enter.
// Steps by keys start at the present state, not at the drawn one, as keys may be faster than frames.
const [LEFT, BASE, UNIT, LAYER] = [10, 268, 0.074, 6];

function tower(play, answer) {
  const { hidden_dim: D, num_layers: L, mlp_dim: M } = play.state;
  const [top, right, edge] = [BASE - LAYER * L, LEFT + UNIT * M, LEFT + UNIT * D];
  const middle = (BASE + top) / 2;
  const widths = TABLE.hidden_dim.choices;
  const wide = (x) => ({ hidden_dim: clamp(Math.round((x - LEFT) / UNIT / 64) * 64, widths[0], widths.at(-1)) });
  const hidden = (x) => {
    const exact = (x - LEFT) / UNIT;
    return { mlp_dim: Math.abs(exact - 4 * D) < 90 ? 4 * D : clamp(Math.round(exact / 64) * 64, TABLE.mlp_dim.least, TABLE.mlp_dim.most) };
  };
  const deep = (y) => ({ num_layers: clamp(Math.round((BASE - y) / LAYER), 1, TABLE.num_layers.most) });
  const layers = Array.from({ length: L }, (_, l) => BASE - LAYER * (l + 1));
  const mark = (at, name) => svg`<path d="M ${LEFT + UNIT * at} ${BASE + 26} v 5" stroke="var(--vit-edge)" /><text class="build-small" x=${LEFT + UNIT * at} y=${BASE + 42} text-anchor="middle">${name}</text>`;
  const ghost = ([name, { num_layers, mlp_dim }]) => {
    const [x, y] = [LEFT + UNIT * mlp_dim, BASE - LAYER * num_layers];
    return svg`<path d="M ${LEFT} ${y} H ${x} V ${BASE}" fill="none" stroke="var(--vit-edge)" stroke-dasharray="4 3" />${Math.abs(y - top) < 18 && x < LEFT + 160 ? nothing
      : svg`<text class="build-small" x=${x} y=${y - 5} text-anchor="end">${x > 200 ? "ViT-" : ""}${name.split("/")[0]}</text>`}`;
  };
  const beyond = right > 340; // no room for words beside the edge
  return html`<svg class="build-tower" viewBox="0 0 500 316" role="group" aria-label="The encoder: its layers, and the width of tokens and MLPs">
    ${layers.map((y) => svg`<rect x=${LEFT} y=${y + 3.2} width=${UNIT * D} height="2.4" fill="var(--play-0)" /><rect x=${LEFT} y=${y} width=${UNIT * M} height="2.8" fill="var(--play-1)" />`)}
    ${Object.entries(play.things.models).filter(([name]) => name !== "B/32").map(ghost)}
    <rect x=${LEFT} y=${BASE + 5} width=${UNIT * D} height="15" rx="2" fill="var(--vit-soft)" />
    <path d="M ${LEFT} ${BASE - LAYER * 41} V ${BASE + 30}" stroke="var(--vit-edge)" />
    ${[[192, "Ti"], [384, "S"], [768, "B"], [1024, "L"], [1280, "H"]].map((one) => mark(...one))}<text class="build-small" x="122" y=${BASE + 42}>D of the published models</text>
    ${handle({
      label: "width of a token, D", text: `${D}: ${answer.heads} heads of ${HEAD}`, now: D, least: widths[0], most: widths.at(-1), at: { x: edge, y: BASE + 12 },
      move: play.moving(({ x }) => wide(x)), step: (across, below) => play.set({ hidden_dim: clamp(play.state.hidden_dim + HEAD * (across - below), widths[0], widths.at(-1)) }),
    }, svg`${grip(edge + 11, BASE + 12, 0)}<text x=${edge + 27} y=${BASE + 17}>D = ${D}</text>`)}
    ${handle({
      label: "layers, L", text: `${L} layers`, now: L, least: 1, most: TABLE.num_layers.most, at: { x: LEFT, y: top },
      move: play.moving(({ y }) => deep(y)), step: (across, below) => play.set({ num_layers: clamp(play.state.num_layers + across - below, 1, TABLE.num_layers.most) }),
    }, svg`${grip(LEFT + 14, top - 12, 90)}<text x=${LEFT + 30} y=${top - 7}>L = ${L} ${L === 1 ? "layer" : "layers"}</text>`)}
    ${handle({
      label: "width inside the MLP, M", text: `${M}, ${Number((M / D).toFixed(1))} times D`, now: M, least: TABLE.mlp_dim.least, most: TABLE.mlp_dim.most, at: { x: right, y: middle },
      move: play.moving(({ x }) => hidden(x)), step: (across, below) => play.set({ mlp_dim: clamp(play.state.mlp_dim + 64 * (across - below), TABLE.mlp_dim.least, TABLE.mlp_dim.most) }),
    }, svg`${grip(right + 11, middle, 0)}<text x=${beyond ? right + 16 : right + 27} y=${beyond ? top - 7 : middle + 5} text-anchor=${beyond ? "end" : "start"}>M = ${M} = ${Number((M / D).toFixed(1))} D</text>`)}
  </svg>`;
}

function ledger({ hidden_dim: D, mlp_dim: M, patch_size: P, image_size }, { patches, tokens, heads }) {
  const rows = [
    ["images", "B, C, H, W", [CHANNELS, image_size, image_size]], ["patches", "B, N, P*P*C", [patches, P * P * CHANNELS]], ["patch tokens", "B, N, D", [patches, D]],
    ["with class and positions", "B, T, D", [tokens, D]], ["attention weights", "B, h, T, T", [heads, tokens, tokens]], ["inside the MLP", "B, T, M", [tokens, M]],
    ["after the encoder", "B, T, D", [tokens, D]], ["class output", "B, D", [D]], ["logits", "B, K", [CLASSES]],
  ];
  return html`<table class="build-ledger"><caption>Shapes, with B = ${BATCH} images</caption><tbody>${rows.map(([step, letters, here]) => html`<tr><th scope="row">${step}</th><td>(${letters})</td>
    <td>(${[BATCH, ...here].join(", ")})</td></tr>`)}</tbody></table>`;
}

function card(name, index, answer, things) {
  // A quantity's total, marked among those of the published models, and its parts as bars.
  const { title, unit, one, axis: [least, most] } = QUANTITIES[name];
  const [total, values] = [answer.totals[index], answer[name]];
  const across = (value) => 8 + (344 * Math.log(clamp(value, least, most) / least)) / Math.log(most / least);
  const mark = ([model, totals]) => {
    const x = across(totals[index]);
    const below = model === "B/32";
    return svg`<path d="M ${x} 26 v ${below ? 9 : -9}" stroke="var(--vit-edge)" stroke-width="1.6" /><text class="build-mark" x=${x} y=${below ? 47 : 13} text-anchor="middle">${below ? model : model.split("/")[0]}</text>`;
  };
  const row = (part, i) => html`<tr><th scope="row">${part}</th><td class="build-bar"><span style="width: ${((100 * values[i]) / total).toFixed(2)}%; background: ${COLOURS[i]}"></span></td><td>${three(values[i] / one)}</td><td>${percent(values[i] / total)}</td></tr>`;
  return html`<section class="build-card" aria-label=${title}><p class="build-name">${title}</p><p class="build-total"><b>${three(total / one)}${unit}</b> <span>${times(total / things.marks["B/16"][index])} \u00d7 ViT-B/16</span></p>
    <svg viewBox="0 0 360 50" role="img" aria-label="among the published models, on a logarithmic scale"><path d="M 8 26 H 352" stroke="var(--vit-edge)" />${Object.entries(things.marks).map(mark)}
      <path d="M ${across(total)} 17 l 7 9 l -7 9 l -7 -9 z" fill="var(--vit-ink)" stroke="var(--vit-paper)" stroke-width="1.5" /></svg>
    <table><tbody>${PARTS.map(row)}</tbody></table></section>`;
}

function view(state, answer, things, play) {
  // The three totals again, beside the image, for narrow pages, where the cards are far below.
  const now = Object.entries(QUANTITIES).map(([name, { unit, one }], index) => html`<p><b>${three(answer.totals[index] / one)}${unit}</b> ${["parameters", "multiply-adds", "to train"][index]}</p>`);
  return html`<div class="build-body"><figure class="build-image">${image(play, answer)}<div class="build-now" aria-hidden="true">${now}</div><figcaption>N = ${number(answer.patches)} patches</figcaption>
      ${strip(`${play.id}-image`, "Side of the image", { 224: "224 px", 448: "448 px" }, String(state.image_size), (one) => play.set({ image_size: Number(one) }))}</figure>
    <figure class="build-encoder">${tower(play, answer)}<figcaption>Each layer: a bar for attention, D wide, and one for the MLP, M wide. The lowest bar: one token. Dashed: ViT-Ti, S, B, L and H</figcaption></figure>
    ${Object.keys(QUANTITIES).map((name, index) => card(name, index, answer, things))}${ledger(state, answer)}</div>`;
}

function words(_state, { parameters, multiply_adds, totals, model }, { marks }) {
  const [size, cost, memory] = totals.map((total, index) => total / marks["B/16"][index]);
  const share = (values, part) => `${Math.round((100 * values[part]) / sum(values))} %`;
  const known = model === "B/16" ? "" : `${model ? "It" : "This model"} has ${times(size)} times the parameters of ViT-B/16, ${times(cost)} times its multiply-adds and ${times(memory)} times its memory. `;
  return `${model ? `This is ViT-${model}. ` : ""}${known}The MLPs hold ${share(parameters, 4)} of the parameters. The attention products hold none, but take ${share(multiply_adds, 3)} of the multiply-adds.`;
}

export default explorable("builder", TABLE, {
  title: "The builder",
  hint: "Drag the round grips: the corner of a patch (P), the top of the tower (L layers) and the ends of its bars (M and D). Tab and the arrow keys move them too.",
  goals: [
    { text: "Build ViT-B/16: 86.6 M parameters, 17.6 G multiply-adds.", reached: (_state, { model }) => model === "B/16" },
    {
      text: "Build a model with at least as many parameters as ViT-B/16 and at most half its multiply-adds.",
      reached: (_state, { totals: [size, cost] }, { marks }) => size >= marks["B/16"][0] && cost <= marks["B/16"][1] / 2,
    },
  ],
  compute, open, view, words,
  close: ({ photograph }) => URL.revokeObjectURL(photograph),
});
