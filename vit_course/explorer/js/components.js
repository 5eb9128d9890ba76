// Principal components: the directions in which rows of numbers spread the most. No DOM.
//
// They are found by Lanczos' method: a few dozen products with the tokens, and never the D x D table of
// their covariances, which at 1,370 tokens of 384 numbers is several times the work.

const MOST = 64;
const BETWEEN = 8; // steps between two tests of convergence

export function components(rows, width, count = 3) {
  // (N, width), minus their mean -> `count` directions of length 1, the widest spread first. The entry that is
  // largest in size is made positive, as in scikit-learn, so that the same tokens always have the same colours.
  const basis = [];
  const [diagonal, beside] = [[], []];
  let v = Float64Array.from({ length: width }, (_, i) => Math.sin(i + 1)); // any start that is not special
  let size = normalise(v);
  let found = [];
  while (true) {
    basis.push(v);
    const next = squared(rows, width, v);
    diagonal.push(dot(next, v));
    for (let twice = 0; twice < 2; twice++) for (const b of basis) addTo(next, b, -dot(next, b));
    size = normalise(next);
    const ended = basis.length === Math.min(MOST, width) || !(size > 1e-10 * diagonal[0]); // nothing is left to find
    if (ended || basis.length % BETWEEN === 0) {
      found = largest(diagonal, beside, count);
      if (ended || found.every(([value, shares]) => size * Math.abs(shares.at(-1)) < 1e-5 * value)) break;
    }
    beside.push(size);
    v = next;
  }
  return Array.from({ length: count }, (_, c) => {
    const direction = new Float64Array(width);
    if (c < found.length) found[c][1].forEach((share, i) => addTo(direction, basis[i], share));
    normalise(direction);
    const peak = direction.reduce((best, x) => (Math.abs(x) > Math.abs(best) ? x : best), 0);
    return peak < 0 ? direction.map((x) => -x) : direction;
  });
}

function largest(diagonal, beside, count) {
  // -> [eigenvalue, eigenvector in the basis of the Lanczos vectors] of the `count` largest
  const { values, vectors } = tridiagonal(diagonal, beside);
  const order = values.map((_, i) => i).sort((a, b) => values[b] - values[a]);
  return order.slice(0, count).map((i) => [values[i], vectors.map((row) => row[i])]);
}

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function addTo(a, b, factor) {
  for (let i = 0; i < a.length; i++) a[i] += factor * b[i];
}

function normalise(a) {
  const size = Math.sqrt(dot(a, a));
  if (size > 0) for (let i = 0; i < a.length; i++) a[i] /= size;
  return size;
}

function squared(rows, width, v) {
  // X^T X v, two rows at a time, which is faster.
  const out = new Float64Array(width);
  for (let at = 0; at < rows.length; at += 2 * width) {
    const after = at + width < rows.length ? at + width : -1;
    let [a, b] = [0, 0];
    if (after < 0) for (let i = 0; i < width; i++) a += rows[at + i] * v[i];
    else
      for (let i = 0; i < width; i++) {
        a += rows[at + i] * v[i];
        b += rows[after + i] * v[i];
      }
    if (after < 0) for (let i = 0; i < width; i++) out[i] += a * rows[at + i];
    else for (let i = 0; i < width; i++) out[i] += a * rows[at + i] + b * rows[after + i];
  }
  return out;
}

function tridiagonal(diagonal, beside) {
  // Jacobi's rotations: slow for large tables, and this one is small. -> eigenvalues, eigenvectors as columns
  const n = diagonal.length;
  const a = diagonal.map((x, i) => Float64Array.from({ length: n }, (_, j) =>
    i === j ? x : Math.abs(i - j) === 1 ? beside[Math.min(i, j)] : 0));
  const vectors = a.map((_, i) => Float64Array.from({ length: n }, (_, j) => (i === j ? 1 : 0)));
  const total = Math.max(...diagonal.map(Math.abs));
  for (let sweep = 0, off = Infinity; sweep < 30 && off > 1e-13 * total; sweep++) {
    off = 0;
    for (let p = 0; p < n; p++)
      for (let q = p + 1; q < n; q++) {
        off = Math.max(off, Math.abs(a[p][q]));
        if (Math.abs(a[p][q]) > 1e-16 * total) rotate(a, vectors, p, q);
      }
  }
  return { values: a.map((row, i) => row[i]), vectors };
}

function rotate(a, vectors, p, q) {
  const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (const row of a) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
  for (let k = 0; k < a.length; k++)
    [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
  for (const row of vectors) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
}
