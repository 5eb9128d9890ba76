// The live page's address: "?photograph=dahlia&model=tiny-cifar&size=336&square=20-50-80". The explorer's state, such
// as the layer, follows the "#". A picture of the visitor's own is never in the address.

const GPU = ["", "0", "1"];

export function fromAddress(search, { photographs, models, sizes }) {
  // -> the valid choices of an address, or defaults: anybody can write an address.
  const given = new URLSearchParams(search);
  const known = (name, list) => list.find((one) => String(one) === given.get(name)) ?? list[0];
  const [x, y, side] = given.get("square")?.match(/^(\d{1,3})-(\d{1,3})-(\d{1,3})$/)?.slice(1).map(Number) ?? [];
  const square = x <= 100 && y <= 100 && side >= 50 && side <= 100 ? { x, y, side } : undefined;
  const [photograph, model] = [known("photograph", photographs), known("model", models)];
  const gpu = known("gpu", GPU); // whether on a graphics card (live_card.js)
  return { photograph, model, size: known("size", sizes), square, gpu };
}

export function toAddress(chosen, { photographs, models, sizes }) {
  // -> only what differs from how the page opens.
  const parts = new URLSearchParams();
  for (const [name, [usual]] of [["photograph", photographs], ["model", models], ["size", sizes], ["gpu", GPU]])
    if (chosen[name] && chosen[name] !== usual) parts.set(name, chosen[name]);
  const { photograph, square } = chosen;
  if (photograph && square) parts.set("square", `${square.x}-${square.y}-${square.side}`);
  return parts.size ? `?${parts}` : "";
}
