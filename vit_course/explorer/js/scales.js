// Scales: which weight is drawn at full strength. Numbers only.

const SHARE = 0.98;

export function selected(values, length, rank) {
  // Quickselect (Hoare): reorders the first `length` values so that the one of this rank is in its place, with larger
  // ones after it. -> that value
  let [low, high] = [0, length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let [i, j] = [low, high];
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i <= j) {
        const kept = values[i];
        values[i++] = values[j];
        values[j--] = kept;
      }
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else break;
  }
  return values[rank];
}

let scratch = new Float32Array(0);

export function percentile(map, from, length, share) {
  // The percentile of map[from] to map[from + length - 1], with linear interpolation, as NumPy's.
  if (scratch.length < length) scratch = new Float32Array(length);
  for (let i = 0; i < length; i++) scratch[i] = map[from + i];
  const rank = share * (length - 1);
  const below = Math.floor(rank);
  const value = selected(scratch, length, below);
  if (below === rank) return value;
  let next = Infinity;
  for (let i = below + 1; i < length; i++) if (scratch[i] < next) next = scratch[i];
  return value + (rank - below) * (next - value);
}

export function ownTop(map, from, length) {
  // The weight drawn at full strength on a map's own scale: its 98th percentile, but at least a twentieth of the
  // largest weight, as the percentile is noise if nearly all weight lies on a few patches.
  let largest = 0;
  for (let i = from; i < from + length; i++) if (map[i] > largest) largest = map[i];
  return Math.max(percentile(map, from, length, SHARE), largest / 20) || 1e-9;
}

export function sampleQueries(prefix, patches, most = 9) {
  // All prefix tokens, and some patches spread over the picture.
  const out = Array.from({ length: prefix }, (_, token) => token);
  const count = Math.min(most, patches);
  for (let i = 0; i < count; i++) out.push(prefix + Math.floor(((i + 0.5) * patches) / count));
  return out;
}

export function sharedTop(tops) {
  // One scale for many maps: the 90th percentile of their tops, so that one extreme map does not darken all others.
  return percentile(Float32Array.from(tops), 0, tops.length, 0.9) || 1e-9;
}

const STEPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];

export function multiples(tokens) {
  // The choices of the slider of the fixed scale, as multiples of an even share.
  return STEPS.filter((times) => times <= tokens);
}

export function nearestMultiple(fixed, tokens) {
  const list = multiples(tokens);
  const far = (times) => Math.abs(Math.log(Math.max(fixed, 1e-9) * tokens) - Math.log(times));
  return list.reduce((best, times, index) => (far(times) < far(list[best]) ? index : best), 0);
}
