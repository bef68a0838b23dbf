extension ViewerPage {
    /// The picture's connection and the polling of `state`, each with its back-off.
    static let connectionScript = #"""
        const stage = $('stage'), still = $('still');
        const session = Array.from(crypto.getRandomValues(new Uint8Array(8)), byte => byte.toString(16).padStart(2, '0')).join('');
        // Beside this page, at whatever path a proxy has put it. Not by the document's own base: that has the name and
        // password of the page's address, which fetch refuses.
        const address = name => new URL(name, location.href).href;
        const BACK_OFF = [500, 1000, 2000, 4000, 8000, 10000];

        // The picture. The one before stays until the next has something to show.
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
          stopTimer();
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
          if (!known.failures && !document.hidden) {
            const wait = BACK_OFF[Math.min(stream.attempt++, BACK_OFF.length - 1)];
            stream.timer = setTimeout(connect, wait * (.8 + .4 * Math.random()));
          }
          render();
        }

        // WebKit says nothing either when a stream ends, but its picture loses its size.
        setInterval(() => { if (stream.image && !stream.image.naturalWidth) broke(stream.image); }, 500);

        function disconnect() {
          stopTimer();
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

        // The newest picture is kept once a second: a broken image would leave a hole.
        function keepStill() {
          const image = stream.image;
          if (!image || !image.naturalWidth) return;
          const scale = Math.min(1, 1600 / image.naturalWidth);
          const width = Math.round(image.naturalWidth * scale), height = Math.round(image.naturalHeight * scale);
          try {
            if (still.width !== width || still.height !== height) { still.width = width; still.height = height; }
            still.getContext('2d').drawImage(image, 0, 0, width, height);
          } catch (undecodable) { /* the next second has another */ }
        }

        // Chromium and Firefox keep the last picture of a stream that has ended, and say nothing. The server knows: it no longer
        // lists this viewer, or has none at all.
        function isUnlisted(result) {
          const clients = result.stream && result.stream.clients_stat;
          if (!clients || typeof clients !== 'object') return result.viewer_page.viewers === 0;
          return !Object.keys(clients).some(id => clients[id] && clients[id].key === stream.key);
        }

        // The state, once a second.
        const poll = { timer: 0, running: false, instance: null };

        class Refusal extends Error {
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
          try {
            const answer = await fetch(address(`state?key=${stream.key}`), { cache: 'no-store', credentials: 'same-origin', signal: abort.signal });
            if (!answer.ok) throw new Refusal(answer.status);
            const result = (await answer.json()).result;
            if (!result || typeof result.viewer_page !== 'object' || !result.viewer_page) throw new Error('no viewer_page');
            accept(result);
          } catch (failure) {
            known.hint = failure instanceof Refusal ? failure.message : '';
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
          known.page = page;
          known.failures = 0;
          // A counter that went back began anew.
          const drops = number(page.dropped);
          const dropped = isRestarted || drops < known.drops ? drops : drops - known.drops;
          known.drops = drops;
          record(number(page.stream_fps), number(page.latency_ms) || NaN, number(page.bitrate_bps), dropped, number(page.capture_fps));

          stream.unlisted = stream.image && isUnlisted(result) ? stream.unlisted + 1 : 0;
          if (wasLost || isRestarted || stream.unlisted >= 3) reconnect();
          else if (!stream.image && !stream.next && !stream.timer) connect();
          keepStill();
          render();
        }

        function missed() {
          known.failures++;
          record(NaN, NaN, NaN, NaN, NaN);
          if (known.failures === 2) known.streaming = false;
          render();
        }
        """#
}
