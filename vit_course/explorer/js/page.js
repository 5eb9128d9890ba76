// Brings every explorer of a page to life.

import { modelOf } from "../../_support/widgets/js/model.js";
import { render } from "./explorer.js";

for (const place of document.querySelectorAll(".vit-explorer-place")) render({ model: modelOf(place, "explorer"), el: place });
