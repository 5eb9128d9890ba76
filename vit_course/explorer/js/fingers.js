// Fingers on the photograph: a swipe up or down scrolls the page, as everywhere; a tap is a click; whoever holds for a
// moment, or begins sideways, moves over the picture.

const [HOLD, SLACK] = [250, 8]; // milliseconds; points of the page

export function fingers(node, { over, done }) {
  // over(event): a finger that moves over the picture is here; done(): it has left.
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
  node.addEventListener("pointercancel", end); // the browser scrolls
  // It asks before it begins to.
  node.addEventListener("touchmove", (event) => dragging && event.cancelable && event.preventDefault(), { passive: false });
  node.addEventListener("contextmenu", (event) => start && event.preventDefault());
}
