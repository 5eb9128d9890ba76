// A table of a widget's state: what each part is as usual, and which values it takes. Python reads the same file, and
// refuses the same values in the same words (state.py). No DOM.

function number(part, counts) {
  // -> the least and the largest value.
  return [part.least ?? -Infinity, part.counts ? counts[part.counts] - 1 : part.most ?? Infinity];
}

function fits(part, value, counts) {
  if (part.shape) {
    const [count, ...inner] = part.shape;
    return Array.isArray(value) && value.length === count && value.every((one) => fits({ ...part, shape: inner.length ? inner : undefined }, one, counts));
  }
  if (part.choices) return part.choices.includes(value);
  if (part.flag) return typeof value === "boolean";
  const [least, most] = number(part, counts);
  return Number.isFinite(value) && value >= least && value <= most && (!part.whole || Number.isInteger(value));
}

function wanted(part, counts) {
  if (part.choices) return `one of ${part.choices.map((one) => JSON.stringify(one)).join(", ")}`;
  if (part.flag) return "true or false";
  const [least, most] = number(part, counts);
  return `${part.shape ? `${part.shape.join(" x ")} ` : "a "}${part.whole ? "whole " : ""}number${part.shape ? "s" : ""} from ${least} to ${most}`;
}

export function refusal(table, name, value, counts) {
  // -> a sentence about a value that a part cannot take, or "".
  if (!Object.hasOwn(table, name)) return `there is no ${name}: there are ${Object.keys(table).join(", ")}`;
  return fits(table[name], value, counts) ? "" : `${name} must be ${wanted(table[name], counts)}, got ${JSON.stringify(value)}`;
}

export function usual(table) {
  return Object.fromEntries(Object.entries(table).map(([name, part]) => [name, structuredClone(part.usual)]));
}

export function fromAddress(hash, name) {
  // "#NAME?part=value&part=value", the values as JSON -> [part, value] of each; none where it is for another figure.
  const [whose, query = ""] = hash.replace(/^#/, "").split("?");
  if (whose !== name) return [];
  return [...new URLSearchParams(query)].map(([part, text]) => {
    try {
      return [part, JSON.parse(text)];
    } catch {
      return [part, text];
    }
  });
}

export function toAddress(table, state, name) {
  // Only what is not as usual.
  const query = new URLSearchParams();
  for (const [part, { usual: value }] of Object.entries(table))
    if (JSON.stringify(state[part]) !== JSON.stringify(value)) query.set(part, JSON.stringify(state[part]));
  return `#${name}${query.size ? `?${query}` : ""}`;
}
