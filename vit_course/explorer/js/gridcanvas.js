// Draws the grid's small maps: new cells go into an atlas of one pixel for each patch, and are enlarged from there to
// their places. Only the maps, without the photograph, as darkened photographs of forty pixels would be hard to read.

import { canvasOf, fillMask } from "./compose.js";

const [DARK, LIGHT, UNKNOWN] = ["#0d0e12", [255, 241, 220], "rgba(128, 128, 128, .16)"];

export class GridCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.maps = null;
  }

  fit(maps, width, height, ratio) {
    // Prepares the canvas for these maps, at this size in device pixels. -> whether anything changed.
    const { canvas } = this;
    if (!width || !height || (maps === this.maps && width === canvas.width && height === canvas.height)) return false;
    Object.assign(canvas, { width, height });
    Object.assign(this, { maps, gap: Math.max(1, Math.round(ratio)) });
    this.atlas = canvasOf(maps.panel.columns * maps.width, maps.panel.rows * maps.height);
    this.image = new ImageData(this.atlas.width, this.atlas.height);
    this.clear();
    return true;
  }

  box(cell) {
    // -> x, y, width and height on the canvas.
    const { width: across, height: down } = this.maps;
    const { width, height } = this.canvas;
    const [column, row] = [cell % across, Math.floor(cell / across)];
    const [left, top] = [Math.round((column * width) / across), Math.round((row * height) / down)];
    const [right, bottom] = [Math.round(((column + 1) * width) / across), Math.round(((row + 1) * height) / down)];
    return [left, top, right - left - this.gap, bottom - top - this.gap];
  }

  clear() {
    // Marks unknown cells with grey, and known ones to be drawn again.
    this.context.fillStyle = UNKNOWN;
    this.maps.known.forEach((known, cell) => (known ? this.maps.fresh.add(cell) : this.context.fillRect(...this.box(cell))));
  }

  paint(smooth) {
    const { maps, context, atlas, image } = this;
    const { columns, rows, tokens, prefix } = maps.panel;
    if (!maps.fresh.size) return;
    const corner = (cell) => [(cell % maps.width) * columns, Math.floor(cell / maps.width) * rows];
    for (const cell of maps.fresh) {
      const [left, top] = corner(cell);
      const style = { at: top * atlas.width + left, width: atlas.width, colour: LIGHT };
      fillMask(image.data, maps.maps, cell * tokens + prefix, columns, rows, 0, maps.tops[cell], style);
    }
    atlas.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = smooth;
    context.fillStyle = DARK;
    for (const cell of maps.fresh) {
      const box = this.box(cell);
      context.fillRect(...box);
      context.drawImage(atlas, ...corner(cell), columns, rows, ...box);
    }
    maps.fresh.clear();
  }
}
