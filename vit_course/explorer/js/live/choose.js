// How a visitor gives a picture: one of ours, a file by its button, dropped anywhere on the page, or pasted.

const pictureIn = (list) => [...list].find((file) => file.type.startsWith("image/")) ?? list[0];

export class Choose {
  // node: the part of the page that Python wrote; take({name, title, source, credit, photograph, maps}) gets each
  // picture, refuse(words) a reason why something is not one.
  constructor(node, { take, refuse }) {
    Object.assign(this, { node, take, refuse });
    this.buttons = [...node.querySelectorAll("[data-photograph]")];
    for (const button of this.buttons) button.addEventListener("click", () => this.ours(button));
    const field = node.querySelector("input[type=file]");
    node.querySelector("[data-file]").addEventListener("click", () => field.click());
    field.addEventListener("change", () => {
      if (field.files.length) this.theirs(field.files[0]);
      field.value = ""; // so that the same file can be chosen again
    });
    this.drops(document.documentElement);
    document.addEventListener("paste", (event) => {
      const { files } = event.clipboardData;
      if (files.length) this.theirs(pictureIn(files));
    });
  }

  drops(root) {
    // Everywhere on the page: a picture dropped beside a smaller area would make the browser leave the page.
    let depth = 0;
    const mark = () => root.classList.toggle("live-over", depth > 0);
    const each = (kind, then) =>
      root.addEventListener(kind, (event) => {
        event.preventDefault();
        then(event);
        mark();
      });
    each("dragenter", () => depth++);
    each("dragleave", () => (depth = Math.max(0, depth - 1)));
    each("dragover", () => {});
    each("drop", ({ dataTransfer }) => {
      depth = 0;
      if (dataTransfer.files.length) this.theirs(pictureIn(dataTransfer.files));
      else this.refuse("What you dropped is not a file: save the picture first, then drop the file.");
    });
  }

  // Takes the last picture again.
  again() {
    this.last();
  }

  ours(button) {
    this.last = () => this.ours(button);
    const { photograph, name, title, credit, maps } = button.dataset;
    this.press(button);
    this.take({ photograph: name, name: title, title: "", source: photograph, credit, maps });
  }

  theirs(file) {
    this.last = () => this.theirs(file);
    this.press(null);
    this.take({ name: file.name || "The picture", title: "", source: file, credit: "" });
  }

  press(pressed) {
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button === pressed));
  }
}
