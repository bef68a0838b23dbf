// Reads the list of recordings, draws the days, and plays clips of any moment. Times are seconds since 1970.
const element = id => document.getElementById(id);
const base = location.pathname.replace(/\/+$/, '');
const video = element('video'), hour = element('hour'), day = element('day');
let recordings = [], shownDay = null, cursor = null, clipStart = null, generation = 0, isScrubbing = false;

const midnight = time => { const date = new Date(time * 1000); date.setHours(0, 0, 0, 0); return date.getTime() / 1000; };
const nextMidnight = time => { const date = new Date(time * 1000); date.setHours(24, 0, 0, 0); return date.getTime() / 1000; };
const clock = time => new Date(time * 1000).toLocaleTimeString([], { hour12: false });
const dateText = time => new Date(time * 1000).toLocaleDateString([], { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric' });
const end = recording => recording.start + recording.duration;
const length = seconds => seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
const say = text => { element('status').textContent = text; };

// The list

async function read(from) {
  const response = await fetch(`${base}/list${from === undefined ? '' : `?from=${from.toFixed(3)}`}`, { cache: 'no-store' });
  if (!response.ok) throw new Error(await response.text());
  const list = await response.json();
  recordings = recordings.filter(one => from !== undefined && end(one) <= from).concat(list.recordings);
  return list;
}

async function refresh(isFirst) {
  let pause = 5000;
  try {
    const list = await read(isFirst ? undefined : midnight(Date.now() / 1000));
    if (list.unknown) pause = 500;
    if (isFirst || list.unknown) say(list.unknown ? `${list.unknown} files are still to be looked at` : summary());
    if (cursor === null && recordings.length) select(midnight(recordings[recordings.length - 1].start));
    showDays();
    showEvents();
    draw();
    setTimeout(refresh, pause, list.unknown > 0);
  } catch (error) {
    say(error.message || 'The server does not answer');
    setTimeout(refresh, pause, isFirst);
  }
}

function summary() {
  if (!recordings.length) return 'Nothing is recorded yet';
  const seconds = recordings.reduce((sum, one) => sum + one.duration, 0);
  return `${recordings.length} ${recordings.length === 1 ? 'file' : 'files'}, ${length(seconds)}`;
}

const ofDay = start => recordings.filter(one => one.start < nextMidnight(start) && end(one) > start);

function button(text, detail, isCurrent, action) {
  const item = document.createElement('li'), made = document.createElement('button'), small = document.createElement('small');
  made.textContent = text;
  small.textContent = detail;
  made.append(small);
  made.setAttribute('aria-current', isCurrent);
  made.onclick = action;
  item.append(made);
  return item;
}

function showDays() {
  const days = new Map();
  for (const one of recordings) {
    for (let start = midnight(one.start); start < end(one); start = nextMidnight(start)) {
      const sum = days.get(start) || { seconds: 0, events: 0 };
      sum.seconds += Math.min(end(one), nextMidnight(start)) - Math.max(one.start, start);
      if (one.reasons.length) sum.events++;
      days.set(start, sum);
    }
  }
  const items = [...days].sort((one, other) => other[0] - one[0]).map(([start, sum]) =>
    button(dateText(start), length(sum.seconds) + (sum.events ? `, ${sum.events} ${sum.events === 1 ? 'event' : 'events'}` : ''),
      start === shownDay, () => select(start)));
  element('days').replaceChildren(...items);
}

function showEvents() {
  const items = shownDay === null ? [] : ofDay(shownDay).filter(one => one.reasons.length).reverse().map(one =>
    button(`${clock(one.start)} ${one.reasons.join(', ')}`, [one.ongoing ? 'goes on' : length(one.duration), one.detail].filter(Boolean).join(', '),
      false, () => play(one.start)));
  if (!items.length) {
    const none = document.createElement('li');
    none.className = 'none';
    none.textContent = 'None on this day';
    items.push(none);
  }
  element('events').replaceChildren(...items);
}

function select(start) {
  shownDay = start;
  const found = ofDay(start);
  if (found.length) setCursor(Math.max(start, found[0].start));
  showDays();
  showEvents();
  draw();
}

// The timeline

function setCursor(time) {
  cursor = time;
  if (shownDay === null || time < shownDay || time >= nextMidnight(shownDay)) {
    shownDay = midnight(time);
    showDays();
    showEvents();
  }
  element('time').textContent = `${dateText(time)} ${clock(time)}`;
  const save = element('save');
  save.href = `${base}/clip?start=${time.toFixed(3)}&duration=${element('length').value}&download=1`;
}

// What a canvas shows: all of the day, or the hour around the cursor.
function range(canvas) {
  if (shownDay === null) return [0, 1];
  if (canvas === day) return [shownDay, nextMidnight(shownDay)];
  const first = Math.floor((cursor - shownDay) / 3600) * 3600 + shownDay;
  return [first, first + 3600];
}

function drawScale(canvas) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  const color = name => style.getPropertyValue(name);
  context.scale(ratio, ratio);
  if (shownDay === null) return;
  const [first, last] = range(canvas), x = time => (time - first) / (last - first) * width;
  for (const one of recordings) {
    if (end(one) <= first || one.start >= last) continue;
    context.fillStyle = color(one.reasons.length ? '--event' : '--part');
    context.fillRect(x(one.start), 6, Math.max(2, x(end(one)) - x(one.start)), height - 26);
  }
  context.fillStyle = color('--muted');
  context.font = '11px system-ui, sans-serif';
  const isDay = canvas === day, step = isDay ? (width < 600 ? 6 : 2) * 3600 : (width < 600 ? 15 : 5) * 60;
  for (let time = first; time < last; time += step) context.fillText(clock(time).slice(0, 5), x(time) + 3, height - 6);
  context.fillStyle = color('--cursor');
  if (cursor !== null) context.fillRect(x(cursor) - 1, 2, 2, height - 4);
  canvas.setAttribute('aria-valuetext', cursor === null ? '' : clock(cursor));
}

function draw() {
  drawScale(day);
  drawScale(hour);
}

function scrub(canvas) {
  let shown = null;
  const time = event => {
    const box = canvas.getBoundingClientRect(), part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return shown[0] + part * (shown[1] - shown[0] - 1);
  };
  canvas.addEventListener('pointerdown', event => {
    if (shownDay === null) return;
    isScrubbing = true;
    shown = range(canvas);
    canvas.setPointerCapture(event.pointerId);
    setCursor(time(event));
    draw();
  });
  canvas.addEventListener('pointermove', event => {
    if (!isScrubbing || !shown) return;
    setCursor(time(event));
    draw();
  });
  canvas.addEventListener('pointerup', event => {
    if (!isScrubbing || !shown) return;
    isScrubbing = false;
    play(time(event));
    shown = null;
  });
  canvas.addEventListener('pointercancel', () => { isScrubbing = false; shown = null; });
}

// The player

// Plays from a time on; in a pause, from the next recording.
async function play(time) {
  const mine = ++generation;
  const following = recordings.filter(one => end(one) > time + .05).sort((one, other) => one.start - other.start)[0];
  if (!following) return say('Nothing is recorded after that');
  const start = Math.max(time, following.start), address = `${base}/clip?start=${start.toFixed(3)}&duration=3600`;
  setCursor(start);
  draw();
  try {
    const response = await fetch(address, { method: 'HEAD', cache: 'no-store' });
    if (mine !== generation) return;
    if (!response.ok) return say(response.status === 404 ? 'This recording cannot be played; it may have been deleted' : `The server answers ${response.status}`);
    clipStart = Number(response.headers.get('X-Recording-Start')) || start;
    say('');
    video.src = address;
    const skipped = start - clipStart;
    video.onloadedmetadata = () => { if (skipped > .1 && mine === generation) video.currentTime = skipped; };
    await video.play();
  } catch (error) {
    if (mine === generation && error.name !== 'AbortError') say('The recording cannot be played here; save it instead');
  }
}

video.addEventListener('timeupdate', () => {
  if (clipStart === null || isScrubbing || !video.currentTime) return;
  setCursor(clipStart + video.currentTime);
  draw();
});
video.addEventListener('ended', () => { if (clipStart !== null) play(clipStart + video.currentTime + .1); });
video.addEventListener('error', () => { if (video.src) say('This recording cannot be played here; save it instead'); });

const step = seconds => { if (cursor !== null) play(Math.max(0, cursor + seconds)); };
element('back').onclick = () => step(-10);
element('forth').onclick = () => step(10);
element('length').onchange = () => { if (cursor !== null) setCursor(cursor); };
element('theme').onclick = () => document.documentElement.dispatchEvent(new Event('toggletheme'));
element('live').href = base.replace(/[^/]*$/, '') || '/';
document.documentElement.addEventListener('themechange', draw);
document.addEventListener('keydown', event => {
  if (event.target.matches('select, video') || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'ArrowLeft') step(-10);
  else if (event.key === 'ArrowRight') step(10);
  else if (event.key === ' ' && !event.target.matches('button, a')) video.paused ? video.play().catch(() => {}) : video.pause();
  else return;
  event.preventDefault();
});
addEventListener('resize', draw);
scrub(day);
scrub(hour);
refresh(true);
