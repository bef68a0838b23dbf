// MARK: What the page says: one state, shown in the overlay, the status, the title and the favicon.

// What is known; render() shows it.
const known = {
  page: null,      // result.viewer_page of the newest answer
  failures: 0,     // answers that failed in a row
  hint: '',        // why the last answer failed, where the viewer can do something about it
  streaming: false, // the picture is connected
  everStreamed: false,
  drops: NaN,      // the counter of the answer before
  paused: false,   // the viewer has stopped the picture
};
const number = value => typeof value === 'number' && isFinite(value) && value >= 0 ? value : NaN;

const STATES = {
  connecting: { word: 'Connecting', color: 'f5b849' },
  broken: { word: 'Reconnecting', color: 'f5b849' },
  live: { word: 'Live', color: '4cd07d' },
  paused: { word: 'Paused', color: '9aa4af' },
  away: { word: 'No picture', color: '9aa4af' },
  lost: { word: 'Connection lost', color: 'ff7a70' },
};

function stateOf() {
  if (known.failures >= 2) return 'lost';
  if (known.paused) return 'paused';
  if (known.page && known.page.online === false) return 'away';
  if (known.streaming) return 'live';
  return known.everStreamed ? 'broken' : 'connecting';
}

function title() {
  const text = known.page && known.page.title;
  return typeof text === 'string' ? text.slice(0, 100) : '';
}

function reason() {
  const text = known.page && known.page.reason;
  return typeof text === 'string' ? text.slice(0, 400) : '';
}

function message(state) {
  switch (state) {
  case 'lost': return ['Connection lost, trying again', known.hint || `${location.host || 'The server'} does not answer.`];
  case 'away': return ['No picture', reason() || 'The source gives no picture.'];
  case 'broken': return ['Picture interrupted, trying again', reason()];
  case 'connecting': return ['Connecting', reason() || (stream.attempt > 1 ? 'The server has given no picture yet.' : '')];
  default: return null;
  }
}

let shownState = '', spokenText = '';
function render() {
  const state = stateOf(), page = known.page || {};
  const width = number(page.width), height = number(page.height);
  const size = width && height ? `${width}\u00d7${height}` : '';
  if (state !== shownState) {
    for (const name of Object.keys(STATES)) root.classList.toggle(name, name === state);
    root.classList.toggle('waiting', state === 'connecting' || state === 'broken');
    setText($('word'), STATES[state].word);
    $('favicon').href = $('favicon').href.replace(/%23[0-9a-f]{6}(?='\/%3E%3C\/svg)/, '%23' + STATES[state].color);
    shownState = state;
    stir();
  }
  setText($('size'), state === 'live' ? size : '');
  setText($('way'), state === 'live' ? (rtc.video ? 'WebRTC' : 'MJPEG') : '');
  plots[1].name = !rtc.video ? 'Latency of the server' : rtc.epoch === rtc.epoch ? 'Glass to glass' : 'Network latency';
  setText(plots[1].label, plots[1].name);
  const isAudible = Boolean(rtc.video && rtc.hasSound), label = rtc.muted ? 'Sound on' : 'Sound off';
  $('sound-button').hidden = !isAudible;
  root.classList.toggle('muted', rtc.muted);
  if ($('sound-button').getAttribute('aria-label') !== label) {
    $('sound-button').setAttribute('aria-label', label);
    $('sound-button').setAttribute('aria-pressed', String(!rtc.muted));
    $('sound-button').title = `${label} (M)`;
  }
  setText($('name'), title());
  const words = [title(), STATES[state].word, size, location.host].filter(Boolean).join(' \u00b7 ');
  if (document.title !== words) document.title = words;

  const text = message(state);
  if (text) { setText($('headline'), text[0]); setText($('detail'), text[1]); }
  $('notice').hidden = !text;
  // Said once for each change; the first connecting needs no announcement.
  const spoken = text ? text.join('. ') : known.everStreamed ? 'Live' : '';
  if (spoken !== spokenText && state !== 'connecting') { spokenText = spoken; setText($('spoken'), spoken); }

  const isStale = state === 'lost' || state === 'away';
  const rate = isStale ? NaN : number(page.capture_fps), viewers = state === 'lost' ? NaN : number(page.viewers);
  setText($('source'), [
    rate === rate ? `Source ${tenths(rate)} fps` : '',
    viewers === viewers ? `${viewers} ${viewers === 1 ? 'viewer' : 'viewers'}` : '',
  ].filter(Boolean).join(' \u00b7 '));
  drawPlots();
}

let toastTimer = 0;
function toast(text) {
  setText($('toast'), text);
  $('toast').classList.add('open');
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => $('toast').classList.remove('open'), 4000);
}

// MARK: The stream's connection and the polling of `state`, each with its back-off.

const stage = $('stage'), still = $('still');
const session = Array.from(crypto.getRandomValues(new Uint8Array(8)), byte => byte.toString(16).padStart(2, '0')).join('');
// Relative to this page, at whatever path a proxy has put it. Not relative to the document's base: that has the name and
// password of the page's address, which fetch refuses.
const address = name => new URL(name, location.href).href;
const BACK_OFF = [500, 1000, 2000, 4000, 8000, 10000];

// The picture. The previous one stays until the next has a frame to show.
const stream = { image: null, next: null, key: '', attempt: 0, count: 0, timer: 0, unlisted: 0 };
const stopTimer = () => { clearTimeout(stream.timer); stream.timer = 0; };

const EMPTY = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
function release(image) {
  if (!image) return;
  image.onload = image.onerror = null;
  image.src = EMPTY;  // ends its connection in most browsers
  image.remove();
}

function connect() {
  if (rtc.peer) return;
  stopTimer();
  if (rtc.mayTry) return void startRTC();
  release(stream.next);
  const image = new Image();
  stream.next = image;
  stream.key = `${session}-${++stream.count}`;
  stream.unlisted = 0;
  image.className = 'picture';
  image.alt = '';  // a word would show where the picture breaks
  image.setAttribute('role', 'img');
  image.setAttribute('aria-label', 'Live picture');
  image.draggable = false;
  // Browsers say load for the first frame, for every frame, or for the last: its size tells of the first in all.
  image.onload = () => { if (image === stream.next) arrived(image); };
  image.onerror = () => broke(image);
  stage.append(image);
  image.src = address(`stream?key=${stream.key}`);
  const deadline = performance.now() + 15000;
  const look = () => {
    if (image !== stream.next) return;
    if (image.naturalWidth) arrived(image);
    else if (performance.now() > deadline) { broke(image); window.stop(); }
    else stream.timer = setTimeout(look, 250);
  };
  stream.timer = setTimeout(look, 250);
}

function arrived(image) {
  stopTimer();
  release(stream.image);
  stream.image = image;
  stream.next = null;
  stream.attempt = 0;
  image.classList.add('shown');
  root.classList.add('pictured');
  known.streaming = known.everStreamed = true;
  render();
}

// Without a picture, the one that was kept shows.
function forget() {
  stream.image = null;
  known.streaming = false;
  root.classList.remove('pictured');
}

function broke(image) {
  if (image !== stream.image && image !== stream.next) return;
  release(image);
  if (image === stream.image) forget();
  if (image === stream.next) stream.next = null;
  stopTimer();
  // While nothing answers, the polls go on alone; connect() follows their first success.
  if (!known.failures && !known.paused && !document.hidden) {
    const wait = BACK_OFF[Math.min(stream.attempt++, BACK_OFF.length - 1)];
    stream.timer = setTimeout(connect, wait * (.8 + .4 * Math.random()));
  }
  render();
}

// WebKit reports nothing either when a stream ends, but its image loses its size.
setInterval(() => { if (stream.image && !stream.image.naturalWidth) broke(stream.image); }, 500);

function disconnect() {
  stopTimer();
  stopRTC();
  release(stream.image);
  release(stream.next);
  stream.next = null;
  forget();
  window.stop();  // Safari may read on for an image that is gone, until this
}

function reconnect() {
  keepStill();
  disconnect();
  stream.attempt = 0;
  connect();
}

// Chromium and Firefox keep the last picture of a stream that has ended, and say nothing. The server knows: it no longer
// lists this viewer, or has none at all.
function isUnlisted(result) {
  const clients = result.stream && result.stream.clients_stat;
  if (!clients || typeof clients !== 'object') return result.viewer_page.viewers === 0;
  return !Object.keys(clients).some(id => clients[id] && clients[id].key === stream.key);
}

// The state, once per second.
const poll = { timer: 0, running: false, instance: null };

class HTTPError extends Error {
  constructor(status, words) {
    super(words || (status === 401 || status === 403
      ? 'The server asks for a password. Load this page again to sign in.' : `The server answered ${status}.`));
  }
}

async function ask() {
  clearTimeout(poll.timer);
  if (poll.running || document.hidden) return;
  poll.running = true;
  const abort = new AbortController(), limit = setTimeout(() => abort.abort(), 5000);
  const began = performance.now();
  await measureRTC().catch(() => {});
  try {
    const sent = performance.now();
    const answer = await fetch(address(`state?key=${stream.key}`), { cache: 'no-store', credentials: 'same-origin', signal: abort.signal });
    const received = performance.now();
    if (!answer.ok) throw new HTTPError(answer.status);
    const result = (await answer.json()).result;
    if (!result || typeof result.viewer_page !== 'object' || !result.viewer_page) throw new Error('no viewer_page');
    readClock(sent, received, number(result.viewer_page.clock_ms));
    accept(result);
  } catch (failure) {
    known.hint = failure instanceof HTTPError ? failure.message : '';
    if (!document.hidden) missed();
  }
  clearTimeout(limit);
  poll.running = false;
  if (document.hidden) return;
  const wait = known.failures < 5 ? 1000 : known.failures < 20 ? 2000 : 5000;
  poll.timer = setTimeout(ask, Math.max(200, wait - (performance.now() - began)));
}

function accept(result) {
  const page = result.viewer_page, wasLost = known.failures >= 2;
  const isRestarted = poll.instance !== null && result.instance_id !== poll.instance;
  poll.instance = result.instance_id === undefined ? null : result.instance_id;
  // The server may run on another machine, whose clock began at another time.
  if (isRestarted) serverClock.samples = [];
  known.page = page;
  document.getElementById('recordings-item').hidden = !page.recordings;
  known.failures = 0;
  // A counter that decreased was reset.
  const drops = number(page.dropped);
  const dropped = isRestarted || drops < known.drops ? drops : drops - known.drops;
  known.drops = drops;
  const own = rtc.sample;
  if (rtc.video) record(own ? own.rate : NaN, own ? own.latency : NaN, own ? own.bitrate : NaN, own ? own.dropped : NaN, number(page.capture_fps));
  else record(number(page.stream_fps), number(page.latency_ms) || NaN, number(page.bitrate_bps), dropped, number(page.capture_fps));

  stream.unlisted = stream.image && isUnlisted(result) ? stream.unlisted + 1 : 0;
  if (known.paused) return render();
  if (wasLost || isRestarted || stream.unlisted >= 3) reconnect();
  else if (!stream.image && !stream.next && !stream.timer && !rtc.peer) connect();
  keepStill();
  render();
}

function missed() {
  known.failures++;
  record(NaN, NaN, NaN, NaN, NaN);
  if (known.failures === 2) known.streaming = false;
  render();
}

// MARK: Buttons, keys, full screen, and the page while it is hidden.

// The panel.
const memory = {
  get(name) { try { return localStorage.getItem(name); } catch (refused) { return null; } },
  set(name, value) { try { localStorage.setItem(name, value); } catch (refused) { /* works without */ } },
};
function openPanel(isOpen) {
  $('panel').classList.toggle('open', isOpen);
  root.classList.toggle('panel-open', isOpen);
  $('panel-button').setAttribute('aria-expanded', String(isOpen));
  drawPlots();
}
function togglePanel() {
  const isOpen = !$('panel').classList.contains('open');
  memory.set('mjpeg-viewer-panel', isOpen ? 'open' : 'closed');
  openPanel(isOpen);
}

// Snapshot: the newest frame as the server has it, in its full quality.
let isSaving = false;
async function saveSnapshot() {
  if (isSaving) return;
  isSaving = true;
  $('snapshot-button').setAttribute('aria-busy', 'true');
  const abort = new AbortController(), limit = setTimeout(() => abort.abort(), 10000);
  try {
    const answer = await fetch(address('snapshot'), { cache: 'no-store', credentials: 'same-origin', signal: abort.signal });
    const kind = answer.headers.get('Content-Type') || '';
    if (!answer.ok) {
      const words = /^text\/plain/.test(kind) ? (await answer.text()).trim().slice(0, 200) : '';
      throw new HTTPError(answer.status, words);
    }
    const blob = await answer.blob();
    const now = new Date(), two = part => String(part).padStart(2, '0');
    const name = `snapshot-${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`
      + `-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}${/png/.test(kind) ? '.png' : '.jpg'}`;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    toast(`Saved ${name}`);
  } catch (failure) {
    toast('No snapshot. ' + (failure instanceof HTTPError ? failure.message : 'The server does not answer.'));
  }
  clearTimeout(limit);
  $('snapshot-button').removeAttribute('aria-busy');
  isSaving = false;
}

// Full screen; older Safari has it under its own name, and a telephone may have none.
const fullElement = () => document.fullscreenElement || document.webkitFullscreenElement || null;
const canFill = Boolean(document.fullscreenEnabled || document.webkitFullscreenEnabled);
$('screen-button').hidden = !canFill;
function toggleScreen() {
  if (!canFill) return;
  const done = fullElement()
    ? (document.exitFullscreen || document.webkitExitFullscreen).call(document)
    : (root.requestFullscreen || root.webkitRequestFullscreen).call(root);
  if (done && done.catch) done.catch(() => toast('The browser refuses full screen.'));
}
function screenChanged() {
  const isFull = Boolean(fullElement());
  root.classList.toggle('full', isFull);
  $('screen-button').setAttribute('aria-label', isFull ? 'Leave full screen' : 'Full screen');
  $('screen-button').title = isFull ? 'Leave full screen (F)' : 'Full screen (F)';
  stir();
}
document.addEventListener('fullscreenchange', screenChanged);
document.addEventListener('webkitfullscreenchange', screenChanged);

// When nothing has moved for a while, the status and the buttons go while all is well; in full screen the pointer too.
let idleTimer = 0;
function stir(event) {
  if (event && event.pointerType) root.classList.toggle('mouse', event.pointerType === 'mouse');
  clearTimeout(idleTimer);
  root.classList.remove('idle', 'rested');
  idleTimer = setTimeout(() => {
    root.classList.add('rested');
    if (fullElement()) root.classList.add('idle');
  }, 3000);
}
for (const name of ['pointermove', 'pointerdown', 'keydown']) document.addEventListener(name, stir, { passive: true });

// A tap on the picture hides the buttons; another shows them again. A double click toggles full screen.
let touched = '';
stage.addEventListener('pointerdown', event => { touched = event.pointerType; });
stage.addEventListener('click', () => { if (touched === 'touch') root.classList.toggle('bare'); });
stage.addEventListener('dblclick', () => { if (touched !== 'touch') toggleScreen(); });

function toggleTheme() { root.dispatchEvent(new Event('toggletheme')); }
root.addEventListener('themechange', () => { readColors(); drawPlots(); });

const help = $('help');
function toggleHelp() {
  if (help.open) { if (help.close) help.close(); else help.removeAttribute('open'); }
  else if (help.showModal) help.showModal(); else help.setAttribute('open', '');
}
help.addEventListener('click', event => { if (event.target === help) toggleHelp(); });

const ACTIONS = {
  ' ': togglePause, '+': () => zoomBy(1.25), '=': () => zoomBy(1.25), '-': () => zoomBy(.8), 0: () => setView(1, 0, 0),
  p: togglePanel, m: toggleSound, s: saveSnapshot, f: toggleScreen, t: toggleTheme, '?': toggleHelp,
};
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  root.classList.remove('bare');
  if (help.open && key !== '?') return;
  if (!Object.prototype.hasOwnProperty.call(ACTIONS, key)) return;
  if (key === ' ' && event.target.tagName === 'BUTTON') return;  // presses that
  event.preventDefault();
  ACTIONS[key]();
});
$('panel-button').addEventListener('click', togglePanel);
$('pause-button').addEventListener('click', togglePause);
$('sound-button').addEventListener('click', toggleSound);
$('snapshot-button').addEventListener('click', saveSnapshot);
$('screen-button').addEventListener('click', toggleScreen);
$('theme-button').addEventListener('click', toggleTheme);
$('help-button').addEventListener('click', toggleHelp);
$('help-close').addEventListener('click', toggleHelp);

// A hidden tab stops polling, and after a while it closes the stream, so that nothing is encoded for it.
let restTimer = 0;
document.addEventListener('visibilitychange', () => {
  clearTimeout(restTimer);
  if (document.hidden) {
    clearTimeout(poll.timer);
    restTimer = setTimeout(disconnect, 30000);
  } else resume();
});
function resume() {
  if (!known.paused && !stream.image && !stream.next) connect();
  render();
  ask();
}
window.addEventListener('online', ask);
window.addEventListener('pageshow', event => { if (event.persisted) { disconnect(); resume(); } });
window.addEventListener('resize', drawPlots);
