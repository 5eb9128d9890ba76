// The sentence that says whether the processor computes or the graphics card.

const ms = (time) => `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;
const WHY = {
  differs: () => ": the graphics card gives other numbers",
  slower: ({ processor, card }) => `: a layer takes ${ms(processor)}, on the graphics card ${ms(card)}`,
  fails: () => ": the graphics card cannot compute a layer, or not in time",
  gone: () => ": the graphics card is no longer available",
};

// about: the name of a model; {threads, computes}: its state, as live_models.js has it.
function computedBy(about, { threads, computes: { by, why, times } }) {
  const processor = `the processor (${threads === 1 ? "one thread" : `${threads} threads`})`;
  if (by !== "card") return `${about} is computed by ${processor}${WHY[why]?.(times) ?? ""}.`;
  const took = `a layer takes ${ms(times.card)}, on ${processor} ${ms(times.processor)}`;
  return `${about} is computed by the graphics card: ${took}.`;
}

const GONE = "The graphics card is no longer available: the processor computes.";

export class Computes {
  note = "";

  // page: the whole of it, live.js.
  constructor(page) {
    this.page = page;
  }

  // Of the model that is shown, once it is here.
  tell() {
    const { stage, models, page } = this.page, state = models.states[stage.model];
    const told = state?.computes ? computedBy(page.models[stage.model].about, state) : "";
    document.querySelector(".live-computes").textContent = told;
  }

  // The card has failed: said now, or with the answer that the page is waiting for.
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
