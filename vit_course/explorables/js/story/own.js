// The visitor's own photograph: the model is loaded from the folder of the live page and computes in a worker. Nothing
// leaves the browser.

const LIVE = "live/";
const MB = (bytes) => Math.round(bytes / 1e6);

export class Own {
  constructor(root, story, ours) {
    Object.assign(this, { root, story, ours });
    this.field = root.querySelector("input[type=file]");
    this.line = root.querySelector(".story-loads");
    const buttons = [...root.querySelectorAll("[data-file]")], { protocol } = location;
    if (!this.field) return;
    if (protocol === "file:") {
      for (const button of buttons) button.hidden = true;
      this.say(root.dataset.alone);
      return;
    }
    for (const button of buttons) button.addEventListener("click", () => this.field.click());
    this.field.addEventListener("change", () => {
      if (this.field.files.length) this.take(this.field.files[0]);
      this.field.value = "";
    });
    for (const kind of ["dragover", "dragenter", "dragleave", "drop"])
      addEventListener(kind, (event) => {
        event.preventDefault();
        root.classList.toggle("story-over", ["dragover", "dragenter"].includes(kind));
        const [file] = kind === "drop" ? event.dataTransfer.files : [];
        if (file) this.take(file);
      });
    root.querySelector("[data-ours]").addEventListener("click", () => this.back());
  }

  say(words) {
    this.line.textContent = words;
    this.line.hidden = !words;
  }

  back() {
    this.ticket = 0;
    this.worker?.terminate();
    this.worker = null;
    this.story.asks = null;
    this.story.take(this.ours);
    this.say("");
  }

  async take(file) {
    const ticket = (this.ticket = Math.random()), { story } = this;
    this.say("Opening your photograph ...");
    try {
      this.worker ??= await this.start();
    } catch (error) {
      return this.say(`The model cannot be loaded: ${error.message}.`);
    }
    this.worker.onerror = () => this.say("The part of this page that computes could not start: reload the page, or try a newer browser.");
    this.worker.onmessage = ({ data }) => {
      if (data.ticket && data.ticket !== ticket) return;
      this.heard(data);
    };
    story.asks = (map) => this.worker?.postMessage({ kind: "without", ticket, map });
    const others = await Promise.all(this.ours.others.map(async ({ picture, title }) => ({ title, blob: await (await fetch(picture.src)).blob() })));
    const cat = await (await fetch(this.ours.picture.src)).blob();
    this.worker.postMessage({ kind: "look", ticket, file, others: [{ title: this.ours.title, blob: cat }, ...others.slice(0, 2)] });
  }

  async start() {
    const response = await fetch(`${LIVE}index.html`);
    if (!response.ok) throw new Error(`${LIVE} did not load`);
    const page = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("#live-page");
    const worker = new Worker(`${LIVE}story_worker.js`, { type: "module" });
    worker.postMessage({ kind: "page", page: JSON.parse(page.textContent) });
    return worker;
  }

  heard({ kind, values, words, loaded, total, map, moves, n, places, none }) {
    const { story } = this, kept = "Your photograph stays in this browser.";
    const waits = (words) => {
      story.values.waits = words;
      story.schedule();
      this.say(`${words} ${kept}`);
    };
    if (kind === "picture") {
      story.take({ ...this.ours, ...values, own: true });
      waits("The model is being loaded. It will see the middle square of your photograph.");
      story.go(1);
    }
    if (kind === "progress") waits(`The model is being loaded: ${MB(loaded)} of ${MB(total)} MB.`);
    if (kind === "computing") waits("The model is computing.");
    if (kind === "values") {
      const { rows, ...rest } = values;
      story.take({ ...rest, row: (i) => rows.subarray(i * 257, (i + 1) * 257), own: true });
      this.say(`All numbers are now those of your photograph, computed here. ${kept}`);
    }
    if (kind === "shuffled") {
      Object.assign(story.values.shuffled.places, { [n]: places });
      Object.assign(story.values.shuffled.none, { [n]: none });
      story.schedule();
    }
    if (kind === "without") {
      story.values.changed[map] = moves;
      story.schedule();
    }
    if (kind === "refused") this.say(words);
  }
}
