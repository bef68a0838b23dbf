extension ViewerPage {
    /// What the page says: one state, shown in the overlay, the pill, the title and the favicon.
    static let viewScript = #"""
        // What is known; render() shows it.
        const known = {
          page: null,      // result.viewer_page of the newest answer
          failures: 0,     // answers that failed in a row
          hint: '',        // why the last answer failed, where the viewer can do something about it
          streaming: false, // the picture is connected
          everStreamed: false,
          drops: NaN,      // the counter of the answer before
        };
        const number = value => typeof value === 'number' && isFinite(value) && value >= 0 ? value : NaN;

        const STATES = {
          connecting: { word: 'Connecting', colour: 'f5b849' },
          broken: { word: 'Reconnecting', colour: 'f5b849' },
          live: { word: 'Live', colour: '4cd07d' },
          away: { word: 'No picture', colour: '9aa4af' },
          lost: { word: 'Connection lost', colour: 'ff7a70' },
        };

        function stateOf() {
          if (known.failures >= 2) return 'lost';
          if (known.page && known.page.online === false) return 'away';
          if (known.streaming) return 'live';
          return known.everStreamed ? 'broken' : 'connecting';
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
            $('favicon').href = $('favicon').href.replace(/%23[0-9a-f]{6}(?='\/%3E%3C\/svg)/, '%23' + STATES[state].colour);
            shownState = state;
          }
          setText($('size'), state === 'live' ? size : '');
          const title = [STATES[state].word, size, location.host].filter(Boolean).join(' \u00b7 ');
          if (document.title !== title) document.title = title;

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
        """#
}
