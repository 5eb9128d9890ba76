// The truce with JupyterLab about the keys.

export function truce(root) {
  // -> a function that ends it. JupyterLab's own shortcuts rest while something here has the focus, but for those with Ctrl or Cmd, such as save.
  // It looks for the attribute from the target upwards and stops at the first shortcut that fits, so the target needs
  // it. On the window, because JupyterLab listens on the document before the event comes here.
  const release = (event) => {
    if (root.contains(event.target))
      event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey));
  };
  window.addEventListener("keydown", release, true);
  return () => window.removeEventListener("keydown", release, true);
}
