// The explorer in a notebook, where a kernel may answer, and in a page, where nobody does.

import { widget } from "../../_support/widgets/js/widget.js";
import { render } from "./explorer.js";
import { kernelLab } from "./lab.js";

export default widget("explorer", ({ model, el }) => {
  const kernel = model.send ? kernelLab(model) : null;
  return render({ model, el, lab: (index) => (model.get("_panels")[index].asks ? kernel : null) });
});
