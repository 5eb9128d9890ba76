// The table of a widget's state: the default and the valid values of each part. Python reads the same table, and
// refuses the same values in the same words (state_table.py). No DOM.

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
  // -> a sentence that says why a part cannot take a value, or "" if it can.
  if (!Object.hasOwn(table, name)) return `there is no ${name}; the names are ${Object.keys(table).join(", ")}`;
  return fits(table[name], value, counts) ? "" : `${name} must be ${wanted(table[name], counts)}, got ${JSON.stringify(value)}`;
}

export function usual(table) {
  return Object.fromEntries(Object.entries(table).map(([name, part]) => [name, structuredClone(part.usual)]));
}

export function toAddress(table, state, usual) {
  // The parts that differ from their defaults: "part=value&part=value", flags as 1 and 0, lists as JSON.
  const query = new URLSearchParams();
  for (const [name, { flag }] of Object.entries(table)) {
    const value = state[name], text = JSON.stringify(value);
    if (text !== JSON.stringify(usual[name])) query.set(name, flag ? Number(value) : typeof value === "string" ? value : text);
  }
  return query.toString();
}

export function fromAddress(table, query) {
  // -> [part, value] of each, unchecked. Anybody can write an address, so callers check each value with `refusal`.
  return [...new URLSearchParams(query)].map(([name, text]) => {
    const { flag, shape, choices } = table[name] ?? {};
    if (flag) return [name, { 1: true, 0: false }[text] ?? text];
    const choice = shape ? undefined : choices?.find((one) => String(one) === text);
    if (choice !== undefined) return [name, choice];
    try {
      return [name, JSON.parse(text)];
    } catch {
      return [name, text];
    }
  });
}
