// The lab (lab.js) of the live page: its worker computes the changes that the explorer asks for.

export const liveLab = (models) => (tokens) => ({
  some: 1,
  late: () => (models.ready(models.shown?.model) ? "" : "The answer comes once the large model has loaded."),
  patience: 1500,

  async ask(_, [change], maps) {
    if (models.shown && !models.shown.source) return { words: "While the camera runs nothing can be removed: take the picture first." };
    if (!(await models.there())) return { words: "The large model did not load, and without it nothing can be taken out." };
    const told = await models.change(change, { maps });
    if (!told || told.words) return told;
    const { cosines, says, panel, data, hidden } = told;
    const rows = cosines.slice(cosines.length - tokens).map((cosine) => 1 - cosine); // after the last norm
    return { rows, says, described: panel && { ...panel, hidden }, data };
  },
});
