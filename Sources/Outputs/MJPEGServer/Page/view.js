// MARK: Pause and zoom, and the start.

// The picture stops; the server sends nothing to this viewer meanwhile.
function togglePause() {
  known.paused = !known.paused;
  if (known.paused) { keepStill(4096); disconnect(); } else { stream.attempt = 0; connect(); }
  root.classList.toggle('held', known.paused);
  $('pause-button').setAttribute('aria-pressed', String(known.paused));
  $('pause-button').setAttribute('aria-label', known.paused ? 'Go on' : 'Pause');
  $('pause-button').title = known.paused ? 'Go on (Space)' : 'Pause (Space)';
  render();
}

// Zoomed by `zoom` around the stage's middle, and moved by x and y CSS pixels.
const view = { zoom: 1, x: 0, y: 0 };
function setView(zoom, x, y) {
  view.zoom = Math.min(8, Math.max(1, zoom));
  // No further than the picture's edge.
  const limit = side => side * (view.zoom - 1) / 2;
  const clamp = (value, side) => Math.min(limit(side), Math.max(-limit(side), value));
  view.x = clamp(x, stage.clientWidth);
  view.y = clamp(y, stage.clientHeight);
  stage.style.setProperty('--zoom', view.zoom);
  stage.style.setProperty('--x', view.x + 'px');
  stage.style.setProperty('--y', view.y + 'px');
  root.classList.toggle('zoomed', view.zoom > 1);
}

// What lies at the point stays there; without a point, what is in the middle.
function zoomBy(factor, clientX = innerWidth / 2, clientY = innerHeight / 2) {
  const zoom = Math.min(8, Math.max(1, view.zoom * factor)), ratio = zoom / view.zoom;
  const x = clientX - stage.clientWidth / 2, y = clientY - stage.clientHeight / 2;
  setView(zoom, x - (x - view.x) * ratio, y - (y - view.y) * ratio);
}

stage.addEventListener('wheel', event => {
  event.preventDefault();
  zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? .05 : .002)), event.clientX, event.clientY);
}, { passive: false });

// One pointer moves a zoomed picture, two zoom it.
const pointers = new Map();
let hasMoved = false;
stage.addEventListener('pointerdown', event => {
  if (!pointers.size) hasMoved = false;
  pointers.set(event.pointerId, event);
});
stage.addEventListener('pointermove', event => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const other = [...pointers.values()].find(pointer => pointer.pointerId !== event.pointerId);
  if (other) {
    const span = pointer => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
    const middle = (a, b) => (a + b) / 2;
    zoomBy(span(event) / Math.max(1, span(before)), middle(event.clientX, other.clientX), middle(event.clientY, other.clientY));
    hasMoved = true;
  } else if (view.zoom > 1) {
    setView(view.zoom, view.x + event.clientX - before.clientX, view.y + event.clientY - before.clientY);
    hasMoved = true;
  }
  pointers.set(event.pointerId, event);
});
for (const name of ['pointerup', 'pointercancel', 'pointerleave'])
  stage.addEventListener(name, event => pointers.delete(event.pointerId));
// What ends a movement is no tap.
stage.addEventListener('click', event => { if (hasMoved) event.stopImmediatePropagation(); hasMoved = false; }, true);
window.addEventListener('resize', () => setView(view.zoom, view.x, view.y));

readColors();
openPanel(memory.get('mjpeg-viewer-panel') === 'open');
render();
connect();
ask();
