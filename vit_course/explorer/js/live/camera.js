// The camera: started only by a click; its frames are processed one at a time, always the newest. A frame goes from the
// video to the worker and back, and nowhere else.

const SIDE = 720; // pixels a side, at most, of the square that is looked at
const APART = 1000 / 15; // milliseconds between frames, at least: a higher rate is hardly visible and costs power
const WINDOW = 2000; // milliseconds over which the rate is counted
const ASK = { audio: false, video: { facingMode: "environment", width: { ideal: 1280 }, height: { ideal: SIDE } } };

export const FAILED = {
  NotAllowedError: "The camera was not allowed: allow it in the browser's address bar, then try again.",
  NotFoundError: "This browser cannot find a camera.",
  NotReadableError: "The camera does not start: another program may be using it. Close that program, then try again.",
};
const SAME = {
  SecurityError: "NotAllowedError", OverconstrainedError: "NotFoundError", AbortError: "NotReadableError",
};
const ASKING = "Asking for the camera ...";
const NOWHERE = "This browser lets a page use the camera only at an https address, or on this machine.";
const HIDDEN = "The camera stopped because this page was hidden.";
const GONE = "The camera stopped: it was disconnected or switched off.";

const failure = ({ name, message }) => FAILED[name] ?? FAILED[SAME[name]] ?? `The camera cannot be used: ${message}.`;

// Frames a second, as words.
export function rateWords(times) {
  // times: when each frame was shown, in milliseconds.
  if (times.length < 2) return "";
  const each = (times.at(-1) - times[0]) / (times.length - 1) / 1000;
  if (each > 1) return `a picture every ${each.toFixed(1)} s`;
  return `${(1 / each).toFixed(each > 0.1 ? 1 : 0)} pictures a second`;
}

export class Camera {
  // node: the part of the page that Python wrote. Subclasses implement begins(), called when the video has started;
  // asks(), whether a model is ready for a frame; look(bitmap), which processes one and then calls `next`; take(file),
  // called with a frame that the visitor keeps; and back(), which shows the earlier picture again.
  constructor(node) {
    Object.assign(this, { on: false, run: 0, times: [] });
    const part = (selector) => node.querySelector(selector);
    [this.button, this.line, this.running] = ["[data-camera]", ".live-camera-words", ".live-camera-runs"].map(part);
    [this.video, this.rate] = [part("video"), part(".live-camera-rate")];
    this.promise = this.line.textContent;
    this.canvas = document.createElement("canvas"); // the frame that was looked at last
    this.button.addEventListener("click", () => this.start());
    part("[data-take]").addEventListener("click", () => this.keep());
    this.stop = part("[data-stop]");
    this.stop.addEventListener("click", () => this.end(this.promise));
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && (this.on || this.button.disabled)) this.end(HIDDEN);
    });
  }

  async start() {
    const run = ++this.run;
    this.line.textContent = ASKING;
    this.button.disabled = true;
    const began = await this.open(run).catch((error) => run === this.run && this.end(failure(error)));
    this.button.disabled = false;
    if (this.line.textContent === ASKING) this.say(this.promise); // another picture was chosen, or the camera runs
    if (!began) return;
    this.on = true;
    this.times = [];
    this.rate.textContent = "";
    this.button.hidden = !(this.running.hidden = false);
    this.stop.focus();
    this.begins();
    this.step(run);
  }

  // Starts the video. -> whether it runs and is still wanted.
  async open(run) {
    if (!navigator.mediaDevices) return this.end(NOWHERE);
    const stream = await navigator.mediaDevices.getUserMedia(ASK), tracks = stream.getTracks();
    if (run !== this.run) return tracks.forEach((track) => track.stop());
    this.tracks = tracks;
    for (const track of tracks) track.addEventListener("ended", () => run === this.run && this.end(GONE));
    this.video.srcObject = stream;
    await this.video.play();
    return run === this.run;
  }

  // Called when a frame has been shown: schedules the next one.
  next(run) {
    if (run !== this.run) return;
    const now = performance.now(), { times } = this;
    this.times = [...times.filter((time, i) => now - time < WINDOW || i === times.length - 1), now];
    this.rate.textContent = rateWords(this.times);
    setTimeout(() => this.step(run), Math.max(0, this.asked + APART - now));
  }

  async step(run) {
    if (run !== this.run) return;
    const { videoWidth: width, videoHeight: height } = this.video;
    const side = Math.min(width, height), to = Math.min(side, SIDE);
    if (!side || !this.asks()) return setTimeout(() => this.step(run), APART);
    if (this.canvas.width !== to) Object.assign(this.canvas, { width: to, height: to });
    const context = this.canvas.getContext("2d", { alpha: false, willReadFrequently: true });
    context.drawImage(this.video, (width - side) / 2, (height - side) / 2, side, side, 0, 0, to, to);
    this.asked = performance.now();
    try {
      const bitmap = await createImageBitmap(this.canvas);
      if (run === this.run) this.look(bitmap);
      else bitmap.close();
    } catch (error) {
      if (run === this.run) this.end(`The camera stopped: ${error.message}.`);
    }
  }

  // Takes the last processed frame as a picture file.
  async keep() {
    const { canvas } = this, asked = this.times.length > 0;
    this.release();
    const file = asked && (await new Promise((done) => canvas.toBlob(done, "image/png")));
    this.say(this.promise);
    if (file) this.take(new File([file], "Your picture", { type: file.type }));
    else this.back();
  }

  // Stops with a sentence and, if the camera was running, shows the earlier picture again.
  end(words) {
    const { on } = this;
    this.release();
    this.say(words);
    if (on) this.back();
  }

  // Stops the stream, so that the camera's light goes out.
  release() {
    const focused = this.running.contains(document.activeElement);
    this.run++;
    this.on = false;
    for (const track of this.tracks ?? []) track.stop();
    this.tracks = this.video.srcObject = null;
    this.button.hidden = !(this.running.hidden = true);
    if (focused) this.button.focus();
  }

  say(words) {
    this.line.textContent = words;
    this.line.classList.toggle("live-refused", words !== this.promise);
  }
}
