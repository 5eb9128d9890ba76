// The course's ViT in the page, forwards only: what patches.py, embeddings.py, attention.py, encoder.py and vit.py
// compute, in this order and by the same names, so that it can be read beside chapter 06. No DOM, no library.
//
//   const model = new TinyViT(config, weights)    config: the facts that `described` of tiny_vit.py gives;
//                                                 weights: Uint8Array, the section "weights" that it adds
//   const image = model.normalise(pixels)         pixels (H, W, C) of 0 to 255 -> (C, H, W), as the model takes it
//   const grey = model.covered(image, patches)    a copy in which the patches of these numbers are the mean of the
//                                                 training images: 0 after `normalise`, in the picture `model.grey`
//   model.forward(image, { branch }) -> {
//     logits, probabilities       (K) each, K = config.num_classes; their words are config.class_names
//     tokens                      L + 1 of (T, D): those that go into block 0, and those that come out of each block
//     maps                        L of (h, T, T): attention weights; row t says how much query t takes from each key
//     outputs                     L of { attention, mlp }, (T, D) each: what the two branches of a block have added
//     features                    (T, D): the last tokens after the last norm
//   }
//   branch(layer, name, output)   called with what a branch, "attention" or "mlp", is about to add, (T, D): what it
//                                 returns is added instead, such as a table of means; with nothing returned, `output`
//                                 is, which it may have changed in place: output.fill(0) closes the branch
//   model.lens(tokens)            (T, D) of any layer -> (T, K) logits: the last norm and the head on every token
//   model.config                  grid: [rows, columns] of patches; token 0 is the class token, token 1 + n patch n
//   softmax(logits)               (K) -> (K)
//
// Every array is a Float32Array, the last axis contiguous. One pass of tiny-cifar (T = 65, D = 48, L = 4) takes some
// 10 ms on one core. Logits differ from PyTorch's, of the same rounded weights, by less than 1e-4.

const ROUNDS = new Float32Array(1 << 16); // from the 16 bits of a half to its number
for (let bits = 0; bits < ROUNDS.length; bits++) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
  ROUNDS[bits] = bits >> 15 ? -size : size;
}

function halves(bytes, parameters) {
  // Two bytes a number, the low one first, one parameter after the other -> Float32Array of each, by its name.
  const found = {};
  let at = 0;
  for (const [name, count] of parameters) {
    const values = (found[name] = new Float32Array(count));
    for (let i = 0; i < count; i++, at += 2) values[i] = ROUNDS[bytes[at] | (bytes[at + 1] << 8)];
  }
  return found;
}

// What the Python takes from torch.nn.

class Linear {
  // (T, in) -> (T, out), with a weight (out, in) and out >= 4.
  constructor(weights, name) {
    [this.weight, this.bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
  }

  forward(x) {
    // Two tokens and four outputs at a time, which is three times as fast as one by one. Where that does not come out
    // even, a token or an output is computed twice.
    const { weight, bias } = this;
    const outs = bias.length;
    const ins = weight.length / outs;
    const rows = x.length / ins;
    const out = new Float32Array(rows * outs);
    for (let first = 0; first < rows; first += 2) {
      const second = Math.min(first + 1, rows - 1);
      const x0 = ins * first, x1 = ins * second;
      for (let group = 0; group < outs; group += 4) {
        const o = Math.min(group, outs - 4);
        const w0 = ins * o, w1 = w0 + ins, w2 = w1 + ins, w3 = w2 + ins;
        let a0 = bias[o], a1 = bias[o + 1], a2 = bias[o + 2], a3 = bias[o + 3];
        let b0 = a0, b1 = a1, b2 = a2, b3 = a3;
        for (let i = 0; i < ins; i++) {
          const a = x[x0 + i], b = x[x1 + i], p = weight[w0 + i], q = weight[w1 + i], r = weight[w2 + i], s = weight[w3 + i];
          a0 += a * p, a1 += a * q, a2 += a * r, a3 += a * s;
          b0 += b * p, b1 += b * q, b2 += b * r, b3 += b * s;
        }
        const to = outs * first + o, next = outs * second + o;
        out[to] = a0, out[to + 1] = a1, out[to + 2] = a2, out[to + 3] = a3;
        out[next] = b0, out[next + 1] = b1, out[next + 2] = b2, out[next + 3] = b3;
      }
    }
    return out;
  }
}

class LayerNorm {
  // (T, D) -> (T, D): each token minus its mean, by its standard deviation, times a scale, plus a shift.
  constructor(weights, name, epsilon) {
    [this.scale, this.shift, this.epsilon] = [weights[`${name}.weight`], weights[`${name}.bias`], epsilon];
  }

  forward(x) {
    const { scale, shift, epsilon } = this;
    const D = scale.length;
    const out = new Float32Array(x.length);
    for (let from = 0; from < x.length; from += D) {
      let [mean, variance] = [0, 0];
      for (let i = 0; i < D; i++) mean += x[from + i] / D;
      for (let i = 0; i < D; i++) variance += (x[from + i] - mean) ** 2 / D;
      const by = 1 / Math.sqrt(variance + epsilon);
      for (let i = 0; i < D; i++) out[from + i] = (x[from + i] - mean) * by * scale[i] + shift[i];
    }
    return out;
  }
}

function gelu(x) {
  // x * Phi(x), in place. The error function to 1.5e-7: Abramowitz and Stegun 1964, 7.1.26.
  for (let i = 0; i < x.length; i++) {
    const z = Math.abs(x[i]) * Math.SQRT1_2;
    const t = 1 / (1 + 0.3275911 * z);
    const rest = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-z * z);
    x[i] *= x[i] < 0 ? rest / 2 : 1 - rest / 2;
  }
  return x;
}

export function softmax(x, from = 0, to = x.length, out = new Float32Array(x.length)) {
  let [largest, sum] = [-Infinity, 0];
  for (let i = from; i < to; i++) if (x[i] > largest) largest = x[i];
  for (let i = from; i < to; i++) sum += out[i] = Math.exp(x[i] - largest);
  for (let i = from; i < to; i++) out[i] /= sum;
  return out;
}

const sum = (x, y) => x.map((value, i) => value + y[i]);

// patches.py

class PatchEmbedding {
  // (C, H, W) -> (N, D): each patch, flattened, times one matrix.
  constructor(weights, { patch_size, in_channels, image_size }) {
    this.projection = new Linear(weights, "patch_embedding.projection");
    Object.assign(this, { patch_size, in_channels, image_size });
  }

  forward(image) {
    const { patch_size: P, in_channels: C, image_size: [H, W] } = this;
    const patches = new Float32Array(image.length); // (N, C*P*P), in the order of the convolution's kernel
    let to = 0;
    for (let top = 0; top < H; top += P)
      for (let left = 0; left < W; left += P)
        for (let c = 0; c < C; c++)
          for (let y = top; y < top + P; y++)
            for (let x = left; x < left + P; x++) patches[to++] = image[(c * H + y) * W + x];
    return this.projection.forward(patches);
  }
}

// embeddings.py

class ClassToken {
  // (N, D) -> (N + 1, D)
  constructor(weights) {
    this.token = weights["class_token.token"];
  }

  forward(x) {
    const out = new Float32Array(this.token.length + x.length);
    out.set(this.token);
    out.set(x, this.token.length);
    return out;
  }
}

class LearnedPositions {
  // (T, D) -> (T, D)
  constructor(weights) {
    this.table = weights["positions.table"];
  }

  forward(x) {
    return sum(x, this.table);
  }
}

// attention.py

function attentionWeights(qkv, T, D, h) {
  // (T, 3, h, d) -> (h, T, T): softmax(q k^T / sqrt(d)) over the keys.
  const d = D / h;
  const scale = d ** -0.5;
  const weights = new Float32Array(h * T * T);
  for (let head = 0, to = 0; head < h; head++)
    for (let query = 0; query < T; query++, to += T) {
      const q = 3 * D * query + d * head;
      for (let key = 0; key < T; key++) {
        const k = 3 * D * key + D + d * head;
        let score = 0;
        for (let i = 0; i < d; i++) score += qkv[q + i] * qkv[k + i];
        weights[to + key] = score * scale;
      }
      softmax(weights, to, to + T, weights);
    }
  return weights;
}

class SelfAttention {
  // (T, D) -> (T, D), and the weights (h, T, T)
  constructor(weights, name, { hidden_dim, num_heads }) {
    [this.qkv, this.projection] = [new Linear(weights, `${name}.qkv`), new Linear(weights, `${name}.projection`)];
    [this.D, this.h] = [hidden_dim, num_heads];
  }

  forward(x) {
    const { D, h } = this;
    const [T, d] = [x.length / D, D / h];
    const qkv = this.qkv.forward(x); // (T, 3, h, d)
    const weights = attentionWeights(qkv, T, D, h);
    const out = new Float32Array(T * D);
    for (let head = 0, w = 0; head < h; head++)
      for (let query = 0; query < T; query++)
        for (let key = 0, to = D * query + d * head; key < T; key++, w++) {
          const v = 3 * D * key + 2 * D + d * head;
          for (let i = 0; i < d; i++) out[to + i] += weights[w] * qkv[v + i];
        }
    return [this.projection.forward(out), weights];
  }
}

// encoder.py

class MLP {
  // (T, D) -> (T, D)
  constructor(weights, name) {
    [this.expand, this.contract] = [new Linear(weights, `${name}.expand`), new Linear(weights, `${name}.contract`)];
  }

  forward(x) {
    return this.contract.forward(gelu(this.expand.forward(x)));
  }
}

class EncoderBlock {
  // (T, D) -> (T, D), and what it has seen
  constructor(weights, layer, config) {
    const name = `encoder.blocks.${layer}`;
    this.norm1 = new LayerNorm(weights, `${name}.norm1`, config.norm_epsilon);
    this.attention = new SelfAttention(weights, `${name}.attention`, config);
    this.norm2 = new LayerNorm(weights, `${name}.norm2`, config.norm_epsilon);
    this.mlp = new MLP(weights, `${name}.mlp`);
  }

  forward(x, branch) {
    const [attended, map] = this.attention.forward(this.norm1.forward(x));
    const attention = branch("attention", attended) ?? attended;
    x = sum(x, attention); // Eq. 2
    const thought = this.mlp.forward(this.norm2.forward(x));
    const mlp = branch("mlp", thought) ?? thought;
    return { x: sum(x, mlp), map, outputs: { attention, mlp } }; // Eq. 3
  }
}

class Encoder {
  constructor(weights, config) {
    this.blocks = Array.from({ length: config.num_layers }, (_, layer) => new EncoderBlock(weights, layer, config));
    this.norm = new LayerNorm(weights, "encoder.norm", config.norm_epsilon);
  }

  forward(x, branch) {
    const [tokens, maps, outputs] = [[x], [], []];
    this.blocks.forEach((block, layer) => {
      const seen = block.forward(tokens[layer], (name, output) => branch?.(layer, name, output));
      tokens.push(seen.x);
      maps.push(seen.map);
      outputs.push(seen.outputs);
    });
    return { tokens, maps, outputs, features: this.norm.forward(tokens.at(-1)) };
  }
}

// vit.py

export class TinyViT {
  constructor(config, bytes) {
    const weights = halves(bytes, config.parameters);
    this.config = config;
    this.patch_embedding = new PatchEmbedding(weights, config);
    this.class_token = new ClassToken(weights);
    this.positions = new LearnedPositions(weights);
    this.encoder = new Encoder(weights, config);
    this.head = new Linear(weights, "head");
    this.grey = config.mean.map((value) => Math.round(255 * value));
  }

  forward(image, { branch } = {}) {
    const seen = this.encoder.forward(this.embed(image), branch); // Eq. 2 and 3
    const logits = this.head.forward(seen.features.subarray(0, this.config.hidden_dim)); // Eq. 4
    return { logits, probabilities: softmax(logits), ...seen };
  }

  embed(image) {
    return this.positions.forward(this.class_token.forward(this.patch_embedding.forward(image))); // Eq. 1
  }

  lens(tokens) {
    return this.head.forward(this.encoder.norm.forward(tokens));
  }

  normalise(pixels) {
    const { mean, std } = this.config;
    const [C, area] = [mean.length, pixels.length / mean.length];
    return Float32Array.from(pixels, (_, to) => {
      const c = Math.floor(to / area);
      return (pixels[(to % area) * C + c] / 255 - mean[c]) / std[c];
    });
  }

  covered(image, patches) {
    const { patch_size: P, in_channels: C, image_size: [H, W], grid } = this.config;
    const out = image.slice();
    for (const patch of patches) {
      const [top, left] = [P * Math.floor(patch / grid[1]), P * (patch % grid[1])];
      for (let c = 0; c < C; c++) for (let y = top; y < top + P; y++) out.fill(0, (c * H + y) * W + left, (c * H + y) * W + left + P);
    }
    return out;
  }
}
