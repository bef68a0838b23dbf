// The samples of the last minute, and the four plots of them.
const root = document.documentElement;
const $ = id => document.getElementById(id);
const setText = (element, text) => { if (element.textContent !== text) element.textContent = text; };

// The last minute, in rings of fixed size: the page may stay open for weeks.
const SPAN = 60e3, SLOTS = 72, GAP = 3500;
const EDGE = 4;  // room for the dot at the right end of a curve, in CSS pixels
const times = new Float64Array(SLOTS).fill(-Infinity);
let head = 0;  // where the next sample goes

const tenths = value => value.toFixed(value < 99.95 ? 1 : 0);
const bits = value => value < 999500 ? [(value / 1e3).toFixed(0), 'kbit/s'] : [tenths(value / 1e6), 'Mbit/s'];

class Plot {
  constructor(id, spoken, floor, format, options) {
    this.name = spoken; this.floor = floor; this.format = format;
    this.bars = false; this.total = false;
    Object.assign(this, options);
    this.values = new Float32Array(SLOTS).fill(NaN);
    this.second = this.hasSecond ? new Float32Array(SLOTS).fill(NaN) : null;
    this.element = $(id);
    this.canvas = this.element.querySelector('canvas');
    this.context = this.canvas.getContext('2d');
    this.label = this.element.querySelector('.label');
    const range = this.element.querySelector('.range');
    this.lowest = range.querySelector('.lowest');
    this.highest = range.querySelector('.highest');
    this.value = this.element.querySelector('.value');
    this.number = document.createTextNode('');
    this.unit = document.createElement('i');
    this.value.append(this.number, this.unit);
    this.ceiling = floor;
  }

  // Lowest, highest and sum of what is shown.
  measure(now) {
    this.low = Infinity; this.high = -Infinity; this.sum = 0;
    let top = 0;
    for (let i = 0; i < SLOTS; i++) {
      if (now - times[i] > SPAN) continue;
      const value = this.values[i];
      if (value === value) {
        this.low = Math.min(this.low, value); this.high = Math.max(this.high, value); this.sum += value;
        top = Math.max(top, value);
      }
      if (this.second && this.second[i] === this.second[i]) top = Math.max(top, this.second[i]);
    }
    // Grows at once and shrinks late, so that the scale does not pump.
    const wanted = Math.max(this.floor, nice(top * 1.05));
    if (wanted > this.ceiling || wanted < this.ceiling * .55) this.ceiling = wanted;
  }

  // Whether there is nothing to draw: no value, or no bar.
  get isEmpty() { return !(this.high >= this.low) || this.bars && !(this.sum > 0); }

  // The number next to the name: that of the moment that is pointed at, or else the newest.
  write(slot, isReading) {
    const isTotal = this.total && !isReading;
    const value = !isTotal ? this.values[slot] : this.high >= this.low ? this.sum : NaN;
    const known = value === value;
    const [number, unit] = known ? this.format(value) : ['\u2013', ''];
    if (this.number.data !== number) this.number.data = number;
    setText(this.unit, isTotal && known ? '/ min' : unit);
    if (this.high >= this.low) {
      const low = this.format(this.low), high = this.format(this.high);
      const isOneUnit = low[1] === high[1] && high[1] === unit;
      const words = parts => isOneUnit ? parts[0] : parts.join('\u2009');
      setText(this.lowest, words(low));
      setText(this.highest, words(high));
    } else { setText(this.lowest, '\u2013'); setText(this.highest, '\u2013'); }
  }

  speak() {
    if (!(this.high >= this.low)) return this.element.setAttribute('aria-label', `${this.name}: no data`);
    const say = value => this.format(value).join(' ');
    this.element.setAttribute('aria-label', `${this.name}: ${this.number.data} ${this.unit.textContent}; in the last minute lowest ${say(this.low)}, highest ${say(this.high)}`);
  }

  draw(now, slot, isReading) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio), height = Math.round(this.canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (this.canvas.width !== width || this.canvas.height !== height) { this.canvas.width = width; this.canvas.height = height; }
    const c = this.context, pixel = Math.max(1, Math.round(ratio));
    const base = height - pixel, top = 5 * ratio;
    const x = time => (width - EDGE * ratio) * (1 - (now - time) / SPAN);
    const y = value => base - (base - top) * Math.min(value / this.ceiling, 1) - ratio * .75;
    c.clearRect(0, 0, width, height);
    c.fillStyle = colors.hair;
    c.fillRect(0, base, width, pixel);
    if (this.bars) this.drawBars(c, now, x, y, base, ratio);
    else {
      if (this.second) this.line(c, now, this.second, x, y, colors.second, ratio, null);
      this.line(c, now, this.values, x, y, colors.curve, 1.6 * ratio, base);
    }
    const value = this.values[slot];
    if (isReading) {
      c.fillStyle = colors.muted;
      c.fillRect(Math.round(x(times[slot])) - (pixel >> 1), 0, pixel, base);
    }
    if (value === value && now - times[slot] <= SPAN && (!this.bars || isReading)) {
      c.fillStyle = this.bars ? colors.drop : colors.curve;
      c.beginPath();
      c.arc(x(times[slot]), y(value), (isReading ? 3.25 : 2.5) * ratio, 0, 2 * Math.PI);
      c.fill();
    }
  }

  // A line with holes where nothing was known, and the area below it.
  line(c, now, values, x, y, color, width, base) {
    c.lineWidth = width; c.lineJoin = c.lineCap = 'round'; c.strokeStyle = c.fillStyle = color;
    let run = [];
    const finish = () => {
      if (!run.length) return;
      const path = new Path2D();
      run.forEach(([px, py], i) => i ? path.lineTo(px, py) : path.moveTo(px, py));
      if (run.length === 1) path.lineTo(run[0][0] + .01, run[0][1]);
      c.stroke(path);
      if (base !== null && run.length > 1) {
        path.lineTo(run[run.length - 1][0], base);
        path.lineTo(run[0][0], base);
        c.globalAlpha = .16; c.fill(path); c.globalAlpha = 1;
      }
      run = [];
    };
    let last = -Infinity;
    for (let n = 0; n < SLOTS; n++) {
      const i = (head + n) % SLOTS, value = values[i];
      if (now - times[i] > SPAN) continue;
      if (value !== value || times[i] - last > GAP) finish();
      if (value === value) { run.push([x(times[i]), y(value)]); last = times[i]; }
    }
    finish();
  }

  drawBars(c, now, x, y, base, ratio) {
    const width = Math.max(1, Math.round(Math.min(2.5 * ratio, x(600) - x(0))));  // at most six tenths of a second
    c.fillStyle = colors.drop;
    for (let i = 0; i < SLOTS; i++) {
      if (now - times[i] > SPAN || !(this.values[i] > 0)) continue;
      const top = Math.round(y(this.values[i]));
      c.fillRect(Math.round(x(times[i]) - width / 2), top, width, base - top);
    }
  }
}

// The next round number.
function nice(value) {
  if (!(value > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find(step => step * power >= value * .9999);
}

const plots = [
  new Plot('fps', 'Frame rate', 5, value => [tenths(value), 'fps'], { hasSecond: true }),
  new Plot('latency', 'Latency of the server', 20, value => [value.toFixed(value < 9.95 ? 1 : 0), 'ms']),
  new Plot('bitrate', 'Bitrate', 1e5, bits),
  new Plot('drops', 'Drops', 4, value => [value.toFixed(0), 'frames'], { bars: true, total: true }),
];

const colors = {};
function readColors() {
  const style = getComputedStyle(root);
  for (const name of ['hair', 'muted', 'curve', 'second', 'drop']) colors[name] = style.getPropertyValue('--' + name).trim();
}

function record(...values) {
  times[head] = performance.now();
  plots.forEach((plot, i) => { plot.values[head] = values[i]; });
  plots[0].second[head] = values[plots.length];
  head = (head + 1) % SLOTS;
}

// What is pointed at: milliseconds before now, or null.
let pointed = null;
function slotAt(now) {
  let best = (head + SLOTS - 1) % SLOTS;
  if (pointed === null) return best;
  for (let i = 0; i < SLOTS; i++) {
    if (now - times[i] > SPAN) continue;
    if (Math.abs(now - times[i] - pointed) < Math.abs(now - times[best] - pointed)) best = i;
  }
  return best;
}

function drawPlots() {
  const now = performance.now(), slot = slotAt(now), isReading = pointed !== null && now - times[slot] <= SPAN;
  for (const plot of plots) {
    plot.measure(now);
    plot.write(slot, isReading);
    plot.element.classList.toggle('empty', plot.isEmpty);
  }
  setText($('moment'), isReading ? `${Math.max(0, Math.round((now - times[slot]) / 1e3))} s ago` : 'Last minute');
  $('plots').classList.toggle('reading', isReading);
  if ($('panel').classList.contains('open')) for (const plot of plots) plot.draw(now, slot, isReading);
}

function point(plot, clientX) {
  const box = plot.canvas.getBoundingClientRect();
  pointed = SPAN * (1 - Math.min(1, Math.max(0, (clientX - box.left) / (box.width - EDGE))));
  drawPlots();
}
let unpointTimer = 0;
const unpoint = after => { clearTimeout(unpointTimer); unpointTimer = setTimeout(() => { pointed = null; drawPlots(); }, after); };

for (const plot of plots) {
  const element = plot.element;
  const follow = event => { clearTimeout(unpointTimer); point(plot, event.clientX); };
  element.addEventListener('pointerdown', follow);
  element.addEventListener('pointermove', follow);
  element.addEventListener('pointerleave', event => unpoint(event.pointerType === 'mouse' ? 0 : 4000));
  element.addEventListener('focus', () => plot.speak());
  element.addEventListener('blur', () => unpoint(0));
  element.addEventListener('keydown', event => {
    const step = { ArrowLeft: 1000, ArrowRight: -1000, Home: SPAN, End: -SPAN }[event.key];
    if (!step && event.key !== 'Escape') return;
    event.preventDefault();
    clearTimeout(unpointTimer);
    pointed = step ? Math.min(SPAN, Math.max(0, (pointed || 0) + step)) : null;
    drawPlots();
    plot.speak();
  });
}
