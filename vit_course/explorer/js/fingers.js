// Touch on the photograph: a vertical swipe scrolls the page, as everywhere; a tap is a click; a finger that is held
// for a moment, or starts sideways, moves over the picture.

const [HOLD, SLACK] = [250, 8]; // milliseconds; CSS pixels

export function fingers(node, { over, done }) {
  // over(event): called as a finger moves over the picture; done(): called when it is lifted.
  let start = null, dragging = false, waiting;
  const drag = (event) => {
    dragging = true;
    over(event);
  };
  const end = () => {
    clearTimeout(waiting);
    if (dragging) done();
    [start, dragging] = [null, false];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" || !event.isPrimary) return;
    start = event;
    waiting = setTimeout(() => drag(event), HOLD);
  });
  node.addEventListener("pointermove", (event) => {
    if (event.pointerId !== start?.pointerId) return;
    const [right, down] = [event.clientX - start.clientX, event.clientY - start.clientY].map(Math.abs);
    if (dragging) over(event);
    else if (Math.max(right, down) > SLACK) {
      clearTimeout(waiting);
      if (right > down) drag(event);
    }
  });
  node.addEventListener("pointerup", end);
  node.addEventListener("pointercancel", end); // the browser has begun to scroll
  // Keeps the browser from scrolling during a drag.
  node.addEventListener("touchmove", (event) => dragging && event.cancelable && event.preventDefault(), { passive: false });
  node.addEventListener("contextmenu", (event) => start && event.preventDefault());
}
