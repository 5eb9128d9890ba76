// The button for the reader's own picture: a file field with its label and a line of words. No library, no request.
//
// A file goes to Python as one message with its bytes. The connection of Jupyter breaks at a message above 10 MiB, so a
// larger picture is made smaller here first.

import { element } from "../../_support/widgets/js/element.js";
import { truce } from "../../_support/widgets/js/truce.js";

const MOST_BYTES = 8e6;
const LONGEST_SIDE = 2048; // more than any model takes

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

async function smaller(file) {
  // -> the file to send, and what was done to it, in words.
  const bitmap = await createImageBitmap(file); // upright
  const factor = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * factor)));
  const canvas = element("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff"; // beneath what is transparent, as in Python
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  const sizes = `${bitmap.width} x ${bitmap.height} to ${width} x ${height} pixels`;
  bitmap.close();
  const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.95));
  if (!blob || blob.size > MOST_BYTES) throw new Error("still too large");
  return { blob, note: `${file.name} has ${megabytes(file.size)}; your browser made it smaller, from ${sizes}.` };
}

function render({ model, el }) {
  const id = `vit-upload-${Math.random().toString(36).slice(2)}`;
  const input = element("input", { type: "file", accept: "image/*", id, "aria-describedby": `${id}-words` });
  const words = element("p", {
    class: "vit-upload-words", id: `${id}-words`, "aria-live": "polite", "aria-atomic": "true",
    text: "Choose a picture, or drop one here.",
  });
  const root = element(
    "div", { class: "vit-upload" },
    element("div", { class: "vit-upload-field" }, element("label", { for: id, text: "A picture of your own" }), input),
    words,
  );
  el.append(root);

  let patience = null;
  function say(text) {
    clearTimeout(patience);
    words.textContent = text;
  }
  async function take(file) {
    say(`Reading ${file.name} ...`);
    let blob = file, note = "", refusal = "";
    if (file.size > MOST_BYTES) {
      try {
        ({ blob, note } = await smaller(file));
      } catch {
        refusal = `${file.name} has ${megabytes(file.size)}: at most ${megabytes(MOST_BYTES)} can be sent, and this browser could not make it smaller. Please choose another picture, or save it as JPEG.`;
      }
    }
    let buffers = [];
    try {
      if (!refusal) buffers = [await blob.arrayBuffer()];
    } catch {
      refusal = `${file.name} could not be read by the browser. Please choose it again.`;
    }
    patience = setTimeout(
      () => say("Python has not answered yet: another cell may be running. If the kernel was restarted, run this cell again."),
      20_000,
    );
    model.send({ name: file.name, note, refusal }, undefined, buffers);
  }

  // Emptied first, so that the same file can be chosen again.
  input.addEventListener("click", () => (input.value = ""));
  input.addEventListener("change", () => input.files.length && take(input.files[0]));
  const dragged = (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    root.classList.toggle("vit-upload-over", event.type === "dragover");
    if (event.type === "drop" && event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  };
  for (const kind of ["dragover", "dragleave", "drop"]) root.addEventListener(kind, dragged);

  const end = truce(root); // Enter opens the field and not the cell

  const answered = () => model.get("message") && say(model.get("message"));
  model.on("change:message", answered);
  answered();
  root.dataset.ready = "true";
  return () => {
    clearTimeout(patience);
    end();
    model.off("change:message", answered);
  };
}

export default { render };
