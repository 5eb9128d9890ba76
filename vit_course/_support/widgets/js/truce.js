// Suspends JupyterLab's keyboard shortcuts while a widget has the focus.

export function truce(root) {
  // -> a function that ends it. Shortcuts with Ctrl or Cmd, such as save, keep working. JupyterLab searches for the
  // attribute from the event's target upwards, and stops at the first shortcut that matches, so the target itself needs
  // it. The listener is on the window, because JupyterLab's on the document runs before any on `root`.
  const release = (event) => {
    if (root.contains(event.target))
      event.target.toggleAttribute("data-lm-suppress-shortcuts", !(event.ctrlKey || event.metaKey));
  };
  window.addEventListener("keydown", release, true);
  return () => window.removeEventListener("keydown", release, true);
}
