// Ranks, a histogram, and the formatting of numbers. No DOM.

export function rankOf(values, index) {
  // -> 1 for the largest; equal values share the better rank.
  let above = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > values[index]) above++;
  return above + 1;
}

export function ordinal(n) {
  const teen = n % 100 > 10 && n % 100 < 14;
  const ending = "0th 1st 2nd 3rd".split(" ")[teen ? 0 : n % 10] ?? "th";
  return `${n}${ending.replace(/\d/, "")}`;
}

export function place(rank, count) {
  // "the largest of 257", "the 3rd largest of 257"; from the middle on counted from the other end.
  const back = count - rank + 1;
  if (rank === 1) return `the largest of ${count}`;
  if (back === 1) return `the smallest of ${count}`;
  return rank <= back ? `the ${ordinal(rank)} largest of ${count}` : `the ${ordinal(back)} smallest of ${count}`;
}

export function histogram(values, weights, bins = 40) {
  // -> {low, high, counts, shares}: the number of values in each bin, and the sum of their weights.
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const [counts, shares] = [new Float32Array(bins), new Float32Array(bins)];
  for (let i = 0; i < values.length; i++) {
    const bin = high > low ? Math.min(Math.floor(((values[i] - low) / (high - low)) * bins), bins - 1) : bins >> 1;
    counts[bin] += 1;
    shares[bin] += weights[i];
  }
  return { low, high, counts, shares };
}

export function times(value) {
  // A multiple with about two significant digits.
  if (value < 0.005) return "almost 0";
  return value >= 9.95 ? value.toFixed(0) : value >= 0.95 ? value.toFixed(1) : value.toFixed(2);
}

export function share(value) {
  // A weight as a percentage.
  const percent = 100 * value;
  if (percent > 0 && percent < 0.005) return "under 0.01\u00a0%";
  return `${percent >= 9.95 ? percent.toFixed(0) : percent >= 0.95 ? percent.toFixed(1) : percent.toFixed(2)}\u00a0%`;
}

export function ofEven(value) {
  // A weight as a multiple of an even share.
  return value < 0.005 ? "far less than an even share" : `${times(value)} times an even share`;
}

export function signed(value, digits = 2) {
  // With a typographic minus; a value that rounds to zero has no sign.
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) > 0 ? `−${text}` : text;
}
