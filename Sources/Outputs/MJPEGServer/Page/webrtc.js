// MARK: The picture by WebRTC, where the server and the network allow it: a fraction of the bandwidth of MJPEG.

const rtc = {
  peer: null,      // its connection, from the first attempt to its end
  video: null,     // the element, once it has a picture
  everShown: false,
  resource: '',    // the address of the session at the server
  timer: 0,
  lossTimer: 0,
  refusals: 0,     // attempts in a row without a picture; after the second MJPEG stays
  mayTry: 'RTCPeerConnection' in window && !/^(localhost|127\..*|\[::1\])$/.test(location.hostname),
  sample: null,    // the statistics of the last second
  before: null,
  epoch: NaN,      // the RTP timestamp of the epoch of the server's clock, which the answer states (RFC 7273)
  ages: [],        // of the frames of the last second: from capture to display, in ms
  hasSound: false, // the server sends sound with the picture
  muted: true,     // browsers play sound only once the viewer has asked for it
};

// The server's clock. The quickest of the last answers says best how this page's clock differs.
const serverClock = { samples: [], offset: NaN };
function readClock(sent, received, clock) {
  if (clock !== clock) return;
  serverClock.samples.push({ trip: received - sent, offset: clock - (sent + received) / 2 });
  if (serverClock.samples.length > 30) serverClock.samples.shift();
  serverClock.offset = serverClock.samples.reduce((a, b) => b.trip < a.trip ? b : a).offset;
}

// From a frame's capture, of which its RTP timestamp tells, to the time when the browser expects to show it.
function watchFrames(peer, video) {
  const look = (now, frame) => {
    if (peer !== rtc.peer) return;
    video.requestVideoFrameCallback(look);
    if (typeof frame.rtpTimestamp !== 'number') rtc.epoch = NaN;
    const ticks = rtc.epoch + 90 * (frame.expectedDisplayTime + serverClock.offset) - frame.rtpTimestamp;
    // Less than nothing, up to a second, where the clocks or the camera's times are off by more than it took.
    const age = ((ticks + 90000) % 2 ** 32 + 2 ** 32) % 2 ** 32 / 90 - 1000;
    // Beyond a minute it is the browser's guess of the display that is wrong.
    if (age < 60000) rtc.ages.push(Math.max(0, age));
  };
  if (rtc.epoch === rtc.epoch) video.requestVideoFrameCallback(look);
}
// Without a picture by then, MJPEG is shown.
const RTC_LIMIT = 5000;
// As long a connection may be without a packet; browsers wait much longer until they call it failed.
const RTC_LOSS = 3000;

// Chromium plays two channels as one, unless its own description asks for both.
function inStereo(sdp) {
  const opus = /^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(sdp);
  return opus ? sdp.replace(new RegExp(`^a=fmtp:${opus[1]} (?!.*\\bstereo=)`, 'm'), '$&stereo=1;') : sdp;
}

async function startRTC() {
  const peer = rtc.peer = new RTCPeerConnection();
  const isOld = () => peer !== rtc.peer;
  rtc.timer = setTimeout(() => { if (!isOld()) fallBack(); }, RTC_LIMIT);
  // One element plays both tracks, so that they stay together.
  const media = new MediaStream();
  peer.ontrack = event => {
    if (isOld()) return;
    media.addTrack(event.track);
    if (event.track.kind === 'video') {
      // Each picture as soon as it is there: without this, Chromium keeps some 7 ms more.
      event.receiver.jitterBufferTarget = 0;
      attachRTC(peer, media);
    } else rtc.hasSound = true;
    render();
  };
  peer.onconnectionstatechange = () => {
    if (isOld()) return;
    clearTimeout(rtc.lossTimer);
    if (peer.connectionState === 'failed' || peer.connectionState === 'closed') lostRTC();
    else if (peer.connectionState === 'disconnected') rtc.lossTimer = setTimeout(() => { if (!isOld()) lostRTC(); }, RTC_LOSS);
  };
  try {
    peer.addTransceiver('video', { direction: 'recvonly' });
    peer.addTransceiver('audio', { direction: 'recvonly' });
    const offer = await peer.createOffer();
    await peer.setLocalDescription({ type: 'offer', sdp: inStereo(offer.sdp) }).catch(() => peer.setLocalDescription(offer));
    await new Promise(done => {
      const look = () => { if (peer.iceGatheringState === 'complete') done(); };
      peer.onicegatheringstatechange = look;
      setTimeout(done, 1000);
      look();
    });
    const answer = await fetch(address('whep'), {
      method: 'POST', headers: { 'Content-Type': 'application/sdp' }, body: peer.localDescription.sdp,
      cache: 'no-store', credentials: 'same-origin',
    });
    if (answer.status !== 201) throw new Error(`${answer.status}`);
    const place = answer.headers.get('Location'), sdp = await answer.text();
    const resource = place ? new URL(place, address('whep')).href : '';
    if (isOld()) { endRTC(resource); return; }
    rtc.resource = resource;
    const epoch = /^a=mediaclk:direct=(\d+)/m.exec(sdp);
    rtc.epoch = epoch && 'requestVideoFrameCallback' in HTMLVideoElement.prototype ? Number(epoch[1]) : NaN;
    await peer.setRemoteDescription({ type: 'answer', sdp });
  } catch (failure) {
    // The server has no WebRTC, or as many viewers as it allows.
    if (!isOld()) fallBack();
  }
}

function attachRTC(peer, media) {
  const video = document.createElement('video');
  video.className = 'picture';
  video.autoplay = video.playsInline = true;
  video.muted = rtc.muted;
  video.setAttribute('role', 'img');
  video.setAttribute('aria-label', 'Live picture');
  video.srcObject = media;
  const shown = () => {
    if (peer !== rtc.peer || rtc.video) return;
    clearTimeout(rtc.timer);
    rtc.refusals = 0;
    rtc.video = video;
    rtc.everShown = true;
    watchFrames(peer, video);
    video.classList.add('shown');
    root.classList.add('pictured');
    known.streaming = known.everStreamed = true;
    render();
  };
  video.onplaying = () => { if (video.videoWidth) shown(); };
  video.onresize = () => { if (video.videoWidth) shown(); };
  video.onerror = () => { if (peer === rtc.peer) lostRTC(); };
  stage.append(video);
  play(video);
}

// Muted where the browser plays no sound that was not asked for.
function play(video) {
  const started = video.play();
  if (started && started.catch) started.catch(failure => {
    if (video.muted || !failure || failure.name !== 'NotAllowedError') return;
    setMuted(true);
    play(video);
  });
}

function setMuted(isMuted) {
  rtc.muted = isMuted;
  for (const video of stage.querySelectorAll('video')) {
    video.muted = isMuted;
    if (!isMuted) play(video);
  }
  render();
}

function toggleSound() { if (rtc.hasSound) setMuted(!rtc.muted); }

function endRTC(resource) {
  if (!resource) return;
  // Also while the page is being left.
  fetch(resource, { method: 'DELETE', keepalive: true, credentials: 'same-origin' }).catch(() => {});
}

function stopRTC() {
  clearTimeout(rtc.timer);
  clearTimeout(rtc.lossTimer);
  const { peer, video, resource } = rtc;
  rtc.peer = rtc.video = rtc.sample = rtc.before = null;
  rtc.resource = '';
  rtc.epoch = NaN;
  rtc.ages = [];
  rtc.hasSound = false;
  if (peer) { peer.ontrack = peer.onconnectionstatechange = null; peer.close(); }
  for (const element of stage.querySelectorAll('video')) { element.srcObject = null; element.remove(); }
  if (video) { known.streaming = false; root.classList.remove('pictured'); }
  endRTC(resource);
}

// MJPEG takes over. Where WebRTC has failed twice, it stays.
function fallBack() {
  stopRTC();
  // While nothing answers, that is no fault of WebRTC's; the first poll that succeeds connects.
  if (known.failures) return render();
  if (++rtc.refusals >= 2 || !rtc.everShown) rtc.mayTry = false;
  connect();
  render();
}

// A picture that was there has gone: the network has changed, or the server was started again.
function lostRTC() {
  keepStill();
  fallBack();
}

window.addEventListener('pagehide', stopRTC);

// Once per second.
async function measureRTC() {
  const peer = rtc.peer;
  if (!peer || !rtc.video) { rtc.sample = null; return; }
  const report = await peer.getStats();
  if (peer !== rtc.peer) return;
  let video = null, trip = NaN;
  report.forEach(entry => {
    if (entry.type === 'inbound-rtp' && entry.kind === 'video') video = entry;
    if (entry.type === 'candidate-pair' && entry.nominated && entry.currentRoundTripTime >= 0) trip = entry.currentRoundTripTime;
  });
  if (!video) return;
  const before = rtc.before;
  rtc.before = video;
  if (!before) return;
  const seconds = (video.timestamp - before.timestamp) / 1000;
  const frames = (video.jitterBufferEmittedCount || 0) - (before.jitterBufferEmittedCount || 0);
  const waited = (video.jitterBufferDelay || 0) - (before.jitterBufferDelay || 0);
  const ages = rtc.ages.splice(0);
  // Else half of the way there and back, and the wait in the buffer; what the encoder takes is not in it.
  const latency = rtc.epoch === rtc.epoch ? ages.reduce((sum, age) => sum + age, 0) / ages.length
    : 1000 * ((trip >= 0 ? trip / 2 : 0) + (frames > 0 ? waited / frames : 0));
  rtc.sample = {
    rate: seconds > 0 ? (video.framesDecoded - before.framesDecoded) / seconds : NaN,
    latency: latency >= 0 ? latency : NaN,
    bitrate: seconds > 0 ? 8 * (video.bytesReceived - before.bytesReceived) / seconds : NaN,
    dropped: Math.max(0, (video.framesDropped || 0) - (before.framesDropped || 0)),
  };
}

// The newest picture is copied once per second: a broken image would leave a hole.
function keepStill(limit = 1600) {
  const image = rtc.video || stream.image;
  const wide = image ? image.naturalWidth || image.videoWidth : 0, high = wide ? image.naturalHeight || image.videoHeight : 0;
  if (!wide) return;
  const scale = Math.min(1, limit / wide);
  const width = Math.round(wide * scale), height = Math.round(high * scale);
  try {
    if (still.width !== width || still.height !== height) { still.width = width; still.height = height; }
    still.getContext('2d').drawImage(image, 0, 0, width, height);
  } catch (undecodable) { /* the next second has another */ }
}
