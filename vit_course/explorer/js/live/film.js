// Connects the camera to the live page: which model processes its frames, and where the answers are shown.

import { toAddress } from "./address.js";
import { Camera } from "./camera.js";

export class Film extends Camera {
  constructor(page, node) {
    super(node);
    this.page = page;
  }

  begins() {
    const { page } = this, { wanted: model, size, gpu } = page;
    page.picture = { name: "The picture of your camera", title: "", credit: "", filmed: true };
    page.choose.press(null);
    document.querySelector(".live-credit").textContent = "";
    // Removes the photograph from the address.
    history.replaceState(history.state, "", `${location.pathname}${toAddress({ model, size, gpu }, page.known)}${location.hash}`);
    this.told = "";
    page.look(); // which chooses the model
  }

  asks() {
    return this.page.using;
  }

  look(source) {
    this.page.models.look({ ...this.page.using, source });
  }

  // Handles all answers: those for frames here, others in the page.
  async answered(answer) {
    const { page, run } = this, { words, panel, data, model, question } = answer;
    if (!this.on || question?.source) return page.answered(answer);
    if (words) return this.end(`The camera stopped. ${words}`);
    const followed = await page.stage.follow(panel, data, model);
    if (run !== this.run) return;
    if (!followed) await page.answered(answer); // another model, or more patches
    else document.documentElement.dataset.shown = `${model} ${question.size} ${question.ticket}`;
    const { about } = page.page.models[model], { rows, columns } = panel, { size } = question;
    const sees = `${size} × ${size} pixels, ${rows} × ${columns} patches`;
    const told = `${about} sees the middle square of each picture, ${sees}.`;
    if (told !== this.told) page.say((this.told = told));
    await page.stage.opened();
    this.next(run);
  }

  take(file) {
    this.page.choose.theirs(file);
  }

  back() {
    this.page.choose.again();
  }
}
