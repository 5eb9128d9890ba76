// The sentence on whether the processor or the graphics card computes.

const ms = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;
const WHY = {
  differs: () => ": the graphics card gives other numbers",
  slower: ({ processor, card }) => `: a layer takes ${ms(processor)}, on the graphics card ${ms(card)}`,
  fails: () => ": the graphics card cannot compute a layer, or not in time",
  gone: () => ": the graphics card is no longer available",
};

// about: the name of a model; {threads, computes}: from its state in live_models.js.
function computedBy(about, { threads, computes: { by, why, times } }) {
  const processor = `the processor (${threads === 1 ? "one thread" : `${threads} threads`})`;
  if (by !== "card") return `${about} is computed by ${processor}${WHY[why]?.(times) ?? ""}.`;
  const took = `a layer takes ${ms(times.card)}, on ${processor} ${ms(times.processor)}`;
  return `${about} is computed by the graphics card: ${took}.`;
}

const GONE = "The graphics card is no longer available: the processor computes.";

export class Computes {
  note = "";

  // page: the Page of live.js.
  constructor(page) {
    this.page = page;
  }

  // Writes the sentence for the shown model, once it is ready.
  tell() {
    const { stage, models, page } = this.page, state = models.states[stage.model];
    const told = state?.computes ? computedBy(page.models[stage.model].about, state) : "";
    document.querySelector(".live-computes").textContent = told;
  }

  // The card has failed: report it now or, if an answer is pending, together with it.
  gone() {
    this.tell();
    this.note = ` ${GONE}`;
    if (!this.page.models.asked) this.page.say((this.page.said ?? "") + this.noted());
  }

  noted() {
    const { note } = this;
    this.note = "";
    return note;
  }
}
