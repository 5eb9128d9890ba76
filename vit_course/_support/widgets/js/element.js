// What every part of the page is made with.

export function button(text, act) {
  const node = element("button", { type: "button", text });
  node.addEventListener("click", act);
  return node;
}

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}
