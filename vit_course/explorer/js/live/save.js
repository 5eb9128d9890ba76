// "Save as page": writes the same file as `save_html` in Python, of the shown panel in its present state. The empty
// page comes from Python's own template (`write_live`).

import { element } from "../../../_support/widgets/js/element.js";
import { packed, tested } from "./pack.js";
import { NAMES } from "../state.js";

const EMPTY = "saved.txt";
// Placeholders in it, which folder.py has written.
const TITLE = "{the title}", STATE = "{the state}", DATA = "{the data}";

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
const escaped = (text) => text.replace(/[&<>"']/g, (one) => ENTITIES[one]);

async function empty() {
  const response = await fetch(EMPTY).catch(() => null);
  if (!response?.ok) throw new Error(`${EMPTY}, the empty page, did not load: is the server still running?`);
  const text = await response.text();
  const pieces = text.split(STATE).flatMap((piece) => piece.split(DATA));
  if (pieces.length !== 3) throw new Error(`${EMPTY} is not the empty page: write the live page again`);
  return pieces;
}

// -> the file, as a Blob. state: of the explorer that is shown.
export async function pageOf(state, { title, credit }) {
  const [head, between, end] = await empty();
  const [described] = state.model.get("_panels");
  await described.coming?.end(); // layers of a precomputed panel may still be loading
  const whole = await packed(described, state.model.get("_data"), state.first.picture);
  const { panel, data } = tested(whole, state.first.known);
  const values = { _name: "explorer", ...Object.fromEntries(NAMES.map((name) => [name, state.get(name)])) };
  const rounded = (row) => row.map((value) => Number(value.toFixed(5)));
  const says = panel.says && { ...panel.says }; // null for a model without predictions
  if (says) Object.assign(says, { probabilities: rounded(says.probabilities), lens: says.lens.map(rounded) });
  values._panels = [{ ...panel, title: credit, says, telling: state.first.telling ?? null }];
  // Without "<", as the JSON may not end the script element that holds it.
  const text = JSON.stringify(values).replaceAll("<", "\\u003c");
  const start = head.replaceAll(TITLE, () => escaped(title));
  return new Blob([start, text, between, await base64(data), end], { type: "text/html" });
}

function base64(bytes) {
  const reader = new FileReader();
  reader.readAsDataURL(new Blob([bytes]));
  return new Promise((done, failed) => {
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
  });
}

// Asks for consent, as the file contains the visitor's own photograph. -> whether the visitor wants the file.
function agreed(outside) {
  const photograph = `your own photograph${outside ? ", including what lies outside the square" : ""}`;
  const button = (value, text) => element("button", { value, text });
  const dialog = element("dialog", { class: "live-ask", "aria-labelledby": "live-ask-words" },
    element("form", { method: "dialog" },
      element("p", { id: "live-ask-words", text: `The file contains ${photograph}: anyone who gets the file can see it.` }),
      button("save", "Save"), button("", "Cancel")));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) =>
    dialog.addEventListener("close", () => {
      dialog.remove();
      done(dialog.returnValue === "save");
    }));
}

// A button of the explorer's tools, as [label, action].
// name, credit, photograph: of the picture; photograph is given only for the course's own.
export function saveAsPage({ about, name, credit, photograph }) {
  const looks = `Where ${about.replace(/^The /, "the ")} looks`;
  const save = async (tools) => {
    const { state } = tools;
    if (!photograph && !(await agreed(state.first.kept))) return "Nothing was saved.";
    tools.say("Writing the page ...");
    const page = await pageOf(state, { title: photograph ? `${looks}: ${name}` : looks, credit });
    return tools.save(page, `attention-${photograph ?? "explorer"}.html`);
  };
  return ["Save as page", save];
}
