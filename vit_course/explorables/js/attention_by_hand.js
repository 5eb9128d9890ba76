// Four tokens in the plane: their queries, keys and values are arrows and points that can be dragged.

import TABLE from "./attention_by_hand.json" with { type: "json" };
import { explorable, handle, html, percent, strip, svg } from "./play.js";

const TOKENS = [0, 1, 2, 3];
const [SIZE, UNIT, REACH] = [340, 52, 3]; // of a plane: its side, one unit, and how far a point goes
const across = (x) => SIZE / 2 + UNIT * x;
const down = (y) => SIZE / 2 - UNIT * y;
const within = (x) => Math.round(100 * Math.max(-REACH, Math.min(REACH, x))) / 100;
const pair = ([x, y]) => `(${x.toFixed(1)}, ${y.toFixed(1)})`;

function softmax(scores) {
  const largest = Math.max(...scores);
  const powers = scores.map((s) => Math.exp(s - largest));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

export function compute({ queries, keys, values, heads, divided, temperature }, _things, theirs = null) {
  // queries, keys, values (T, 2) -> scores, divided scores and weights, (h, T, T) each, and outputs (T, 2). Two heads have
  // one number of each vector: the first what lies across, the second what lies up.
  const parts = heads === 1 ? [[0, 1]] : [[0], [1]];
  const scores = parts.map((part) => queries.map((q) => keys.map((k) => part.reduce((sum, c) => sum + q[c] * k[c], 0))));
  const by = (divided ? Math.sqrt(2 / heads) : 1) * temperature;
  const scaled = scores.map((head) => head.map((row) => row.map((s) => s / by)));
  // While a learner's function is asked, its last answer stands, unless it was for another number of heads.
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
  // What of a token can be dragged: its query, its key or its value.
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

const grip = (x, y, colour) => svg`<circle cx=${x} cy=${y} r="17" fill="transparent" /><circle class="play-grip" cx=${x} cy=${y} r="6" fill=${colour} />`;
const colour = (token) => `var(--play-${token})`;

function matching(play, { weights }) {
  // Queries and keys in one plane; of the queries only the one that asks is an arrow.
  const { asking, queries } = play.state;
  const centre = [SIZE / 2, SIZE / 2];
  const share = (t) => weights.map((head) => percent(head[asking][t])).join(" | ");
  const named = (text, below, x, y) => {
    // Further out than the point.
    const far = Math.hypot(x - SIZE / 2, y - SIZE / 2) || 1;
    const [right, lower] = [x + (24 * (x - SIZE / 2)) / far, y + (20 * (y - SIZE / 2)) / far + (below ? -3 : 4)];
    return svg`<text text-anchor="middle"><tspan x=${right} y=${lower} font-weight="650">${text}</tspan
      >${below && svg`<tspan class="play-soft hand-small" x=${right} y=${lower + 13}>${below}</tspan>`}</text>`;
  };
  const key = (t) => point(play, "keys", t, (x, y) => svg`${arrow(centre, [x, y], true, colour(t), 2)}${grip(x, y, colour(t))}${named(`k${t}`, share(t), x, y)}`);
  const other = (t) => svg`<circle class="play-other" cx=${across(queries[t][0])} cy=${down(queries[t][1])} r="4" fill="none" stroke=${colour(t)} stroke-width="2" />
    <text class="play-soft hand-small" x=${across(queries[t][0]) + 8} y=${down(queries[t][1]) + 4}>q${t}</text>`;
  const query = point(play, "queries", asking, (x, y) => svg`${arrow(centre, [x, y], false, "var(--vit-ink)", 4)}
    ${grip(x, y, "var(--vit-ink)")}${named(`q${asking}`, "", x, y)}`);
  return plane("The plane of queries and keys", [...TOKENS.filter((t) => t !== asking).map(other), ...TOKENS.map(key), query]);
}

function mixing(play, { weights, outputs }) {
  // The values, and where the output lies between them.
  const { asking, heads, values } = play.state;
  const [x, y] = [across(outputs[asking][0]), down(outputs[asking][1])];
  const share = (t) => (weights[0][asking][t] + weights[heads - 1][asking][t]) / 2;
  const pulls = TOKENS.map((t) => svg`<line x1=${across(values[t][0])} y1=${down(values[t][1])} x2=${x} y2=${y} stroke=${colour(t)} stroke-width=${12 * share(t)} stroke-linecap="round" opacity="0.55" />`);
  const value = (t) => point(play, "values", t, (a, b) => svg`<circle cx=${a} cy=${b} r="17" fill="transparent" />
    <rect class="play-grip" x=${a - 7} y=${b - 7} width="14" height="14" rx="2" fill=${colour(t)} /><text x=${a} y=${b - 14} text-anchor="middle" font-weight="650">v${t}</text>`);
  const others = TOKENS.filter((t) => t !== asking).map((t) => svg`<circle cx=${across(outputs[t][0])} cy=${down(outputs[t][1])} r="4" fill="none" stroke=${colour(t)} stroke-width="2" />
    <text class="play-soft hand-small" x=${across(outputs[t][0]) + 8} y=${down(outputs[t][1]) + 4}>${t}</text>`);
  return plane("The plane of values and outputs", [pulls, others, TOKENS.map(value), svg`<circle cx=${x} cy=${y} r="10" fill="var(--vit-paper)" stroke="var(--vit-ink)" stroke-width="3" />
    <text x=${x} y=${y + 4.5} text-anchor="middle" font-weight="650" class="hand-small">${asking}</text>`]);
}

function table(play, answer, head) {
  const { asking, heads, divided, temperature } = play.state;
  const by = `${divided ? (heads === 1 ? "\u00f7 \u221a2" : "\u00f7 \u221a1") : "not divided"}${temperature === 1 ? "" : `, \u00f7 ${temperature}`}`;
  const row = (t) => html`<tr><th scope="row"><span class="hand-mark" style="background: ${colour(t)}"></span>token ${t}</th>
    <td>${answer.scores[head][asking][t].toFixed(2)}</td><td>${answer.scaled[head][asking][t].toFixed(2)}</td>
    <td class="hand-share"><span class="hand-bar" style="width: calc(${answer.weights[head][asking][t].toFixed(4)} * (100% - 48px)); background: ${colour(t)}"></span><b>${percent(answer.weights[head][asking][t])}</b></td></tr>`;
  return html`<table class="hand-steps"><caption>${heads === 1 ? `Token ${asking} asks` : ["Head 0: only what lies across", "Head 1: only what lies up"][head]}</caption>
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
      <label class="vit-switch"><input type="checkbox" .checked=${state.divided} @change=${(e) => play.set({ divided: e.target.checked })} />divide by \u221ad</label>
      <label class="vit-switch">temperature <input type="range" min="0.1" max="5" step="0.1" .value=${String(state.temperature)}
        @input=${(e) => play.set({ temperature: Number(e.target.value) }, false)} @change=${() => play.keep()} /><output>${state.temperature.toFixed(1)}</output></label>
      <button type="button" @click=${() => play.set(swapped(state))}>Swap tokens 1 and 2</button>
    </div>
    <div class="play-body hand-body"><figure>${matching(play, answer)}<figcaption>Match: the query <b>q</b> (solid) and the keys <b>k</b> (dashed)</figcaption></figure>
      <div class="hand-tables">${heads.map((head) => table(play, answer, head))}</div>
      <figure>${mixing(play, answer)}<figcaption>Mix: the values <b>v</b> pull the output, the ring, as hard as their weights</figcaption></figure></div>`;
}

function words({ asking, heads }, { weights, outputs }) {
  const said = weights.map((head, h) => {
    const row = head[asking];
    const most = row.indexOf(Math.max(...row));
    return `${heads === 1 ? `Token ${asking}` : `In head ${h} it`} takes most, ${percent(row[most])}, from token ${most}${most === asking ? ", itself" : ""}`;
  });
  return `${heads === 1 ? said[0] : `Token ${asking} asks twice. ${said.join(". ")}`}. Its output lies at ${pair(outputs[asking])}.`;
}

export default explorable("attention_by_hand", TABLE, {
  title: "Attention by hand",
  hint: "Drag the head of an arrow, or a square. Arrow keys move what has the focus.",
  goals: [
    { text: "One head: make token 0 read only token 2 (95 % of its weight).", reached: ({ heads }, { weights }) => heads === 1 && weights[0][0][2] >= 0.95 },
    {
      text: "Two heads: let token 0 read token 1 in one head and token 3 in the other (80 % each).",
      reached: ({ heads }, { weights: [a, b] }) => heads === 2 && Math.max(Math.min(a[0][1], b[0][3]), Math.min(a[0][3], b[0][1])) >= 0.8,
    },
  ],
  compute, view, words,
});
