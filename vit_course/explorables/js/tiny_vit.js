// The forward pass of the course's ViT in JavaScript: patches.py, embeddings.py, attention.py, encoder.py and vit.py,
// in this order and with the same names, so that it can be read beside chapter 06. No DOM, no library.
//
//   const model = new TinyViT(config, weights)    config: as `described` of tiny_vit.py returns it;
//                                                 weights: Uint8Array, the section "weights" that it adds
//   const image = model.normalise(pixels)         pixels (H, W, C) of 0 to 255 -> (C, H, W), as the model takes it
//   const other = model.covered(image, patches)   a copy in which the patches of these numbers are grey: the mean of the
//                                                 training images, 0 after `normalise`, in the picture `model.grey`
//   model.forward(image, { branch }) -> {
//     logits, probabilities       (K) each, K = config.num_classes; their words are config.class_names
//     tokens                      L + 1 of (T, D): the input of block 0, and the output of each block
//     maps                        L of (h, T, T): attention weights; row t holds the weights of query t for all keys
//     outputs                     L of { attention, mlp }, (T, D) each: what the two branches of each block have added
//     features                    (T, D): the last tokens after the last norm
//   }
//   branch(layer, name, output)   called with the output (T, D) of a branch, "attention" or "mlp", before it is added:
//                                 its result is added instead, such as a table of means; if it returns nothing,
//                                 `output` is, which it may have changed in place: output.fill(0) closes the branch
//   model.lens(tokens)            (T, D) of any layer -> (T, K) logits: the last norm and the head on every token
//   model.config.grid             [rows, columns] of patches; token 0 is the class token, token 1 + n patch n
//   softmax(logits)               (K) -> (K), in place
//   numbers(bytes)                bytes as `halves` of tiny_vit.py writes them -> Float32Array
//
// Every array is a Float32Array, the last axis contiguous. One pass of tiny-cifar (T = 65, D = 48, L = 4) takes about
// 10 ms on one core. Its logits differ from PyTorch's with the same rounded weights by less than 1e-4.

export function numbers(bytes) {
  // Half-precision numbers, little-endian -> Float32Array. The bits of one, shifted to their places in float32,
  // represent the number divided by 2^112.
  const out = new Float32Array(bytes.length / 2), shifted = new Uint32Array(out.buffer);
  for (let i = 0; i < out.length; i++) {
    shifted[i] = ((bytes[2 * i] | (bytes[2 * i + 1] << 8)) & 0x7fff) << 13;
    out[i] *= bytes[2 * i + 1] >> 7 ? -(2 ** 112) : 2 ** 112;
  }
  return out;
}

const sum = (x, y) => x.map((value, i) => value + y[i]);
const matrix = (values, rows, width, at = 0, stride = width) => ({ values, rows, width, at, stride });

function products(x, y, out) {
  // out = x y^T; y has at least four rows. Computes tiles of 2 x 4 at a time, which is three times as fast as single
  // dot products; where the sizes are not multiples, some products are computed twice.
  const { values: xs, width } = x, { values: ys, stride } = y, { values: outs } = out;
  for (let row = 0; row < x.rows; row += 2) {
    const other = Math.min(row + 1, x.rows - 1), x0 = x.at + x.stride * row, x1 = x.at + x.stride * other;
    for (let group = 0; group < y.rows; group += 4) {
      const o = Math.min(group, y.rows - 4), y0 = y.at + stride * o, y1 = y0 + stride, y2 = y1 + stride, y3 = y2 + stride;
      let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
      for (let i = 0; i < width; i++) {
        const a = xs[x0 + i], b = xs[x1 + i], p = ys[y0 + i], q = ys[y1 + i], r = ys[y2 + i], s = ys[y3 + i];
        a0 += a * p, a1 += a * q, a2 += a * r, a3 += a * s;
        b0 += b * p, b1 += b * q, b2 += b * r, b3 += b * s;
      }
      const to = out.at + out.stride * row + o, next = out.at + out.stride * other + o;
      outs[to] = a0, outs[to + 1] = a1, outs[to + 2] = a2, outs[to + 3] = a3;
      outs[next] = b0, outs[next + 1] = b1, outs[next + 2] = b2, outs[next + 3] = b3;
    }
  }
}

// Layers that Python takes from PyTorch.

class Linear {
  // (T, in) -> (T, out), with a weight (out, in).
  constructor(weights, name) {
    const [weight, bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
    [this.weight, this.bias] = [matrix(weight, bias.length, weight.length / bias.length), bias];
  }

  forward(x) {
    const { weight, bias } = this;
    const [T, width] = [x.length / weight.width, bias.length];
    const out = new Float32Array(T * width);
    products(matrix(x, T, weight.width), weight, matrix(out, T, width));
    for (let from = 0; from < out.length; from += width) for (let i = 0; i < width; i++) out[from + i] += bias[i];
    return out;
  }
}

class LayerNorm {
  // (T, D) -> (T, D): each token minus its mean, divided by its standard deviation, times a scale, plus a shift.
  constructor(weights, name, epsilon) {
    [this.scale, this.shift, this.epsilon] = [weights[`${name}.weight`], weights[`${name}.bias`], epsilon];
  }

  forward(x) {
    const { scale, shift, epsilon } = this;
    const D = scale.length;
    const out = new Float32Array(x.length);
    for (let from = 0; from < x.length; from += D) {
      let mean = 0, variance = 0;
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
    const z = Math.abs(x[i]) * Math.SQRT1_2, t = 1 / (1 + 0.3275911 * z);
    const rest = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) * Math.exp(-z * z);
    x[i] *= x[i] < 0 ? rest / 2 : 1 - rest / 2;
  }
  return x;
}

export function softmax(x) {
  let largest = -Infinity, total = 0;
  for (let i = 0; i < x.length; i++) if (x[i] > largest) largest = x[i];
  for (let i = 0; i < x.length; i++) total += x[i] = Math.exp(x[i] - largest);
  for (let i = 0; i < x.length; i++) x[i] /= total;
  return x;
}

// patches.py

class PatchEmbedding {
  // (C, H, W) -> (N, D): each patch, flattened, times one matrix.
  constructor(weights, config) {
    [this.projection, this.config] = [new Linear(weights, "patch_embedding.projection"), config];
  }

  forward(image) {
    const { patch_size: P, in_channels: C, image_size: [H, W] } = this.config;
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

function attentionWeights(q, k) {
  // (T, d) twice -> (T, T): softmax(q k^T / sqrt(d)) over the keys.
  const T = k.rows, scale = q.width ** -0.5, out = new Float32Array(T * T);
  products(q, k, matrix(out, T, T));
  for (let i = 0; i < out.length; i++) out[i] *= scale;
  for (let from = 0; from < out.length; from += T) softmax(out.subarray(from, from + T));
  return out;
}

class SelfAttention {
  // (T, D) -> (T, D), and the weights (h, T, T)
  constructor(weights, name, { num_heads }) {
    [this.qkv, this.projection, this.h] = [new Linear(weights, `${name}.qkv`), new Linear(weights, `${name}.projection`), num_heads];
  }

  forward(x) {
    const { h } = this;
    const D = this.projection.bias.length, T = x.length / D, d = D / h;
    const qkv = this.qkv.forward(x); // (T, 3, h, d)
    const out = new Float32Array(T * D), map = new Float32Array(h * T * T), v = new Float32Array(d * T);
    for (let head = 0; head < h; head++) {
      const [q, k] = [0, 1].map((part) => matrix(qkv, T, d, part * D + head * d, 3 * D));
      const weights = attentionWeights(q, k);
      map.set(weights, head * T * T);
      for (let i = 0; i < d; i++) for (let t = 0; t < T; t++) v[i * T + t] = qkv[3 * D * t + 2 * D + head * d + i]; // v^T
      products(matrix(weights, T, T), matrix(v, d, T), matrix(out, T, d, head * d, D));
    }
    return [this.projection.forward(out), map];
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
  // (T, D) -> (T, D), with the attention map and the outputs of both branches
  constructor(weights, name, config) {
    [this.norm1, this.norm2] = ["norm1", "norm2"].map((norm) => new LayerNorm(weights, `${name}.${norm}`, config.norm_epsilon));
    [this.attention, this.mlp] = [new SelfAttention(weights, `${name}.attention`, config), new MLP(weights, `${name}.mlp`)];
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
    this.blocks = Array.from({ length: config.num_layers }, (_, layer) => new EncoderBlock(weights, `encoder.blocks.${layer}`, config));
    this.norm = new LayerNorm(weights, "encoder.norm", config.norm_epsilon);
  }

  forward(x, branch) {
    const seen = { tokens: [x], maps: [], outputs: [] };
    this.blocks.forEach((block, layer) => {
      const found = block.forward(seen.tokens[layer], (name, output) => branch?.(layer, name, output));
      seen.tokens.push(found.x), seen.maps.push(found.map), seen.outputs.push(found.outputs);
    });
    return { ...seen, features: this.norm.forward(seen.tokens.at(-1)) };
  }
}

// vit.py

export class TinyViT {
  constructor(config, bytes) {
    const all = numbers(bytes);
    let at = 0;
    const weights = Object.fromEntries(config.parameters.map(([name, count]) => [name, all.subarray(at, (at += count))]));
    this.patch_embedding = new PatchEmbedding(weights, config);
    this.class_token = new ClassToken(weights);
    this.positions = new LearnedPositions(weights);
    this.encoder = new Encoder(weights, config);
    this.head = new Linear(weights, "head");
    [this.config, this.grey] = [config, config.mean.map((value) => Math.round(255 * value))];
  }

  forward(image, { branch } = {}) {
    const seen = this.encoder.forward(this.embed(image), branch); // Eq. 2 and 3
    const logits = this.head.forward(seen.features.subarray(0, this.config.hidden_dim)); // Eq. 4
    return { logits, probabilities: softmax(logits.slice()), ...seen };
  }

  embed(image) {
    return this.positions.forward(this.class_token.forward(this.patch_embedding.forward(image))); // Eq. 1
  }

  lens(tokens) {
    return this.head.forward(this.encoder.norm.forward(tokens));
  }

  normalise(pixels) {
    const { mean, std, in_channels: C } = this.config;
    const area = pixels.length / C;
    const of = (c, at) => (pixels[at * C + c] / 255 - mean[c]) / std[c];
    return Float32Array.from(pixels, (_, to) => of(Math.floor(to / area), to % area));
  }

  covered(image, patches) {
    const { patch_size: P, in_channels: C, image_size: [H, W], grid } = this.config;
    const out = image.slice();
    for (const patch of patches) {
      const top = P * Math.floor(patch / grid[1]), left = P * (patch % grid[1]);
      for (let c = 0; c < C; c++) for (let y = top; y < top + P; y++) out.fill(0, (c * H + y) * W + left, (c * H + y) * W + left + P);
    }
    return out;
  }
}
