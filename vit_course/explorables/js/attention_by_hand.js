// Four tokens in the plane: their queries, keys and values are arrows and points that can be dragged.

import TABLE from "./attention_by_hand.json" with { type: "json" };
import { explorable, handle, html, percent, strip, svg } from "./play.js";

const TOKENS = [0, 1, 2, 3];
const [SIZE, UNIT, REACH] = [340, 52, 3]; // of a plane: its side, one unit, and how far a point goes
const across = (x) => SIZE / 2 + UNIT * x;
const down = (y) => SIZE / 2 - UNIT * y;
const within = (x) => Math.round(100 * Math.max(-REACH, Math.min(REACH, x))) / 100;
const number = (x, places) => x.toFixed(places).replace("-", "\u2212");
const pair = ([x, y]) => `(${number(x, 1)}, ${number(y, 1)})`;

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

export function compute({ queries, keys, values, heads, divided, temperature }, _things, theirs = null) {
  // queries, keys, values (T, 2) -> scores, divided scores and weights, (h, T, T) each, and outputs (T, 2). Each of two
  // heads has one number of each vector: the first the horizontal one, the second the vertical one.
  const parts = heads === 1 ? [[0, 1]] : [[0], [1]];
  const scores = parts.map((part) => queries.map((q) => keys.map((k) => part.reduce((sum, c) => sum + q[c] * k[c], 0))));
  const by = (divided ? Math.sqrt(2 / heads) : 1) * temperature;
  const scaled = scores.map((head) => head.map((row) => row.map((s) => s / by)));
  // theirs: the last answer of the learner's function, ignored if it was for another number of heads.
  const weights = theirs?.length === heads ? theirs : scaled.map((head) => head.map(softmax));
  const outputs = TOKENS.map((i) => [0, 1].map((c) => TOKENS.reduce((sum, j) => sum + weights[c % heads][i][j] * values[j][c], 0)));
  return { scores, scaled, weights, outputs };
}

function arrow(from, to, dashed, colour, wide) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const long = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / long, dy / long];
  const head = [[0, 0], [-11, 5], [-11, -5]].map(([a, b]) => `${to[0] + a * ux - b * uy},${to[1] + a * uy + b * ux}`).join(" ");
  return svg`<line x1=${from[0]} y1=${from[1]} x2=${to[0]} y2=${to[1]} stroke=${colour} stroke-width=${wide}
    stroke-dasharray=${dashed ? "6 4" : "none"} /><polygon points=${head} fill=${colour} />`;
}

function plane(label, body) {
  const lines = [-3, -2, -1, 1, 2, 3].map((at) => svg`<path d="M ${across(at)} 8 V ${SIZE - 8} M 8 ${down(at)} H ${SIZE - 8}" stroke="var(--vit-line)" />`);
  return html`<svg viewBox="0 0 ${SIZE} ${SIZE}" role="group" aria-label=${label}>
    ${lines}<path d="M ${SIZE / 2} 8 V ${SIZE - 8} M 8 ${SIZE / 2} H ${SIZE - 8}" stroke="var(--vit-edge)" />${body}</svg>`;
}

function point(play, name, token, body) {
  // A token's query, key or value, which can be dragged.
  const { state } = play;
  const place = state[name][token];
  const put = (x, y) => ({ [name]: play.state[name].map((one, t) => (t === token ? [within(x), within(y)] : one)) });
  return handle({
    label: `${name === "queries" ? "query" : name.slice(0, -1)} of token ${token}`,
    text: `${place[0].toFixed(1)} across, ${place[1].toFixed(1)} up`,
    now: place[0], least: -REACH, most: REACH,
    at: { x: across(place[0]), y: down(place[1]) },
    move: play.moving(({ x, y }) => put((x - SIZE / 2) / UNIT, (SIZE / 2 - y) / UNIT)),
    step: (right, below) => {
      const [x, y] = play.state[name][token]; // which may have moved since it was drawn
      play.set(put(x + right / 10, y - below / 10));
    },
  }, body(across(place[0]), down(place[1])));
}

const grip = (x, y, colour, r = 6) => svg`<circle cx=${x} cy=${y} r="17" fill="transparent" /><circle class="play-grip" cx=${x} cy=${y} r=${r} fill=${colour} />`;
const colour = (token) => `var(--play-${token})`;

function named(text, below, [x, y], [dx, dy], gap = 10) {
  // A label beside a point, in a given direction; above or below it if it would leave the plane.
  const far = Math.hypot(dx, dy);
  const [ux, uy] = far < 1 ? [0, -1] : [dx / far, dy / far];
  const half = Math.max(12, 3.2 * below.length);
  const right = Math.max(half, Math.min(SIZE - half, x + (gap + half) * ux));
  const off = (gap + 13) * (right === x + (gap + half) * ux ? uy : uy > 0 ? 1 : -1);
  const lower = (y + off < 16 || y + off > SIZE - 18 ? y - off : y + off) + (below ? -1 : 5);
  return svg`<text class="hand-name" text-anchor="middle"><tspan x=${right} y=${lower} font-weight="650">${text}</tspan
    >${below && svg`<tspan class="play-soft hand-small" x=${right} y=${lower + 12.5}>${below}</tspan>`}</text>`;
}

function ring(play, t, place, text) {
  // A token that does not ask; a click makes it ask. The strip above the planes does the same for the keyboard.
  const [x, y] = [across(place[0]), down(place[1])];
  return svg`<g class="hand-other" @click=${() => play.set({ asking: t })}><circle cx=${x} cy=${y} r="14" fill="transparent" />
    <circle cx=${x} cy=${y} r="4" fill="none" stroke=${colour(t)} stroke-width="2" /><text class="play-soft hand-small" x=${x + 8} y=${y + 4}>${text}</text></g>`;
}

const shares = (weights, asking, t) => (weights.length === 1 ? percent(weights[0][asking][t]) : `${weights.map((head) => Math.round(100 * head[asking][t])).join(" | ")} %`);

function matching(play, { weights }) {
  // The plane of queries and keys; of the queries only that of the asking token is an arrow.
  const { asking, keys, queries } = play.state;
  const centre = [SIZE / 2, SIZE / 2];
  const place = ([x, y]) => [across(x), down(y)];
  const key = (t) => point(play, "keys", t, (x, y) => svg`${arrow(centre, [x, y], true, colour(t), 2)}${grip(x, y, colour(t))}`);
  const query = point(play, "queries", asking, (x, y) => svg`${arrow(centre, [x, y], false, "var(--vit-ink)", 4)}${grip(x, y, "var(--vit-ink)", 11)}
    <path class="hand-four" transform="translate(${x} ${y})" d="M -7 0 H 7 M 0 -7 V 7 M -4.5 -2.5 L -7 0 L -4.5 2.5 M 4.5 -2.5 L 7 0 L 4.5 2.5 M -2.5 -4.5 L 0 -7 L 2.5 -4.5 M -2.5 4.5 L 0 7 L 2.5 4.5" />`);
  const outward = (t) => {
    // The direction of a key's label: outwards or, if the query points the same way, sideways.
    const [[a, b], [c, d]] = [keys[t], queries[asking]];
    const near = a * c + b * d > 0.7 * Math.hypot(a, b) * Math.hypot(c, d);
    const side = a * d - b * c > 0 ? -1 : 1;
    return near ? [-b * side * SIZE, -a * side * SIZE] : [a * SIZE, -b * SIZE];
  };
  const [x, y] = queries[asking];
  return plane("The plane of queries and keys", [
    TOKENS.filter((t) => t !== asking).map((t) => ring(play, t, queries[t], `q${t}`)), TOKENS.map(key), query,
    TOKENS.map((t) => named(`k${t}`, shares(weights, asking, t), place(keys[t]), outward(t))), named(`q${asking}`, "", place([x, y]), [x * SIZE, -y * SIZE], 13),
  ]);
}

function mixing(play, { weights, outputs }) {
  // The values, and where the output lies between them.
  const { asking, heads, values } = play.state;
  const [x, y] = [across(outputs[asking][0]), down(outputs[asking][1])];
  const share = (t) => (weights[0][asking][t] + weights[heads - 1][asking][t]) / 2;
  const pulls = TOKENS.map((t) => svg`<line x1=${across(values[t][0])} y1=${down(values[t][1])} x2=${x} y2=${y} stroke=${colour(t)} stroke-width=${12 * share(t)} stroke-linecap="round" opacity="0.55" />`);
  const value = (t) => point(play, "values", t, (a, b) => svg`<circle cx=${a} cy=${b} r="17" fill="transparent" />
    <rect class="play-grip" x=${a - 7} y=${b - 7} width="14" height="14" rx="2" fill=${colour(t)} />`);
  const name = (t) => {
    const [a, b] = [across(values[t][0]), down(values[t][1])];
    return named(`v${t}`, shares(weights, asking, t), [a, b], [a - x, b - y], 11);
  };
  return plane("The plane of values and outputs", [
    pulls, TOKENS.filter((t) => t !== asking).map((t) => ring(play, t, outputs[t], t)), TOKENS.map(value), TOKENS.map(name),
    svg`<g class="hand-name"><circle cx=${x} cy=${y} r="10" fill="var(--vit-paper)" fill-opacity="0.8" stroke="var(--vit-ink)" stroke-width="3" />
      <text x=${x} y=${y + 4.5} text-anchor="middle" font-weight="650" class="hand-small">${asking}</text></g>`,
  ]);
}

function table(play, answer, head) {
  const { asking, heads, divided, temperature } = play.state;
  const by = `${divided ? (heads === 1 ? "\u00f7 \u221a2" : "\u00f7 \u221a1") : "not divided"}${temperature === 1 ? "" : `, \u00f7 ${temperature}`}`;
  const row = (t) => html`<tr><th scope="row"><span class="hand-mark" style="background: ${colour(t)}"></span>token ${t}</th>
    <td>${number(answer.scores[head][asking][t], 2)}</td><td>${number(answer.scaled[head][asking][t], 2)}</td>
    <td class="hand-share"><span class="hand-bar" style="width: calc(${answer.weights[head][asking][t].toFixed(4)} * (100% - 48px)); background: ${colour(t)}"></span><b>${percent(answer.weights[head][asking][t])}</b></td></tr>`;
  return html`<table class="hand-steps"><caption>${heads === 1 ? `Token ${asking} asks` : ["Head 0: only the first numbers, left to right", "Head 1: only the second numbers, up and down"][head]}</caption>
    <thead><tr><th scope="col">key of</th><th scope="col">q \u00b7 k</th><th scope="col">${by}</th><th scope="col">softmax: weight</th></tr></thead>
    <tbody>${TOKENS.map(row)}</tbody></table>`;
}

function swapped(state) {
  const swap = (rows) => [rows[0], rows[2], rows[1], rows[3]];
  return Object.fromEntries(["queries", "keys", "values"].map((name) => [name, swap(state[name])]));
}

function view(state, answer, _things, play) {
  const heads = state.heads === 1 ? [0] : [0, 1];
  return html`<div class="play-row">
      ${strip(`${play.id}-asking`, "Which token asks", { 0: "token 0 asks", 1: "1", 2: "2", 3: "3" }, String(state.asking), (one) => play.set({ asking: Number(one) }))}
      ${strip(`${play.id}-heads`, "Heads", { 1: "one head", 2: "two heads" }, String(state.heads), (one) => play.set({ heads: Number(one) }))}
    </div>
    <div class="play-body hand-body"><figure>${matching(play, answer)}<figcaption>Match: the query <b>q</b> (solid) and the keys <b>k</b> (dashed). Click a small ring, and that token asks</figcaption></figure>
      <div class="hand-tables">${heads.map((head) => table(play, answer, head))}</div>
      <figure>${mixing(play, answer)}<figcaption>Mix: each value <b>v</b> (square) pulls the output (large ring) with its weight. Small rings: the other outputs</figcaption></figure></div>
    <div class="play-row">
      <label class="vit-switch"><input type="checkbox" .checked=${state.divided} @change=${(e) => play.set({ divided: e.target.checked })} />divide by \u221ad</label>
      <label class="vit-switch">temperature <input type="range" min="0.1" max="5" step="0.1" .value=${String(state.temperature)}
        @input=${(e) => play.set({ temperature: Number(e.target.value) }, false)} @change=${() => play.keep()} /><output>${state.temperature.toFixed(1)}</output></label>
      <button type="button" @click=${() => play.set(swapped(state))}>Swap tokens 1 and 2</button>
    </div>`;
}

function words({ asking, heads }, { scores, weights, outputs }) {
  const order = weights.map((head) => [...TOKENS].sort((a, b) => head[asking][b] - head[asking][a]));
  const token = (t) => (t === asking ? "itself" : `token ${t}`);
  const [most, next] = order[0];
  const share = (t, h = 0) => percent(weights[h][asking][t]);
  const place = pair(outputs[asking]);
  if (heads === 2) {
    return `Token ${asking} reads ${token(most)} the most in head 0 (${share(most)}) and ${token(order[1][0])} in head 1 (${share(order[1][0], 1)}). The first number of its output comes from head 0, the second from head 1: ${place}.`;
  }
  const first = `Token ${asking} reads ${token(most)} the most: weight ${share(most)}, from a score of ${number(scores[0][asking][most], 2)}.`;
  if (weights[0][asking][most] >= 0.9) return `${first} Its output is close to v${most}, at ${place}.`;
  return `${first} Next is ${next === asking ? `token ${asking} itself` : token(next)}, with ${share(next)}. Its output is at ${place}.`;
}

export default explorable("attention_by_hand", TABLE, {
  title: "Attention by hand",
  hint: "Drag the solid arrow, a query. The better it matches a key (dashed), the more of that token's value (square) goes into the output (large ring). Drag keys and values too, or move any of them with Tab and the arrow keys.",
  goals: [ // a goal is reached if the number on the page, which is rounded, has the value
    { text: "With one head, make token 0 read almost only token 2 (weight 95 %).", reached: ({ heads }, { weights }) => heads === 1 && weights[0][0][2] >= 0.945 },
    {
      text: "With two heads, make token 0 read token 1 in one head and token 3 in the other (weight 80 % each).",
      reached: ({ heads }, { weights: [a, b] }) => heads === 2 && Math.max(Math.min(a[0][1], b[0][3]), Math.min(a[0][3], b[0][1])) >= 0.795,
    },
  ],
  compute, view, words,
});
