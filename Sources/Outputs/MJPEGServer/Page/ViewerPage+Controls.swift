extension ViewerPage {
    /// Buttons, keys, full screen, and when the page rests.
    static let controlScript = #"""
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
              throw new Refusal(answer.status, words);
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
            toast('No snapshot. ' + (failure instanceof Refusal ? failure.message : 'The server does not answer.'));
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

        // In full screen the buttons and the pointer go when nothing has moved for a while.
        let idleTimer = 0;
        function stir() {
          clearTimeout(idleTimer);
          root.classList.remove('idle');
          if (fullElement()) idleTimer = setTimeout(() => root.classList.add('idle'), 3000);
        }
        for (const name of ['pointermove', 'pointerdown', 'keydown']) document.addEventListener(name, stir, { passive: true });

        // A tap on the picture bares it; another brings the buttons back. A double click fills the screen.
        let touched = '';
        stage.addEventListener('pointerdown', event => { touched = event.pointerType; });
        stage.addEventListener('click', () => { if (touched === 'touch') root.classList.toggle('bare'); });
        stage.addEventListener('dblclick', () => { if (touched !== 'touch') toggleScreen(); });

        function toggleTheme() { root.dispatchEvent(new Event('toggletheme')); }
        root.addEventListener('themechange', () => { takeColours(); drawPlots(); });

        const help = $('help');
        function toggleHelp() {
          if (help.open) { if (help.close) help.close(); else help.removeAttribute('open'); }
          else if (help.showModal) help.showModal(); else help.setAttribute('open', '');
        }
        help.addEventListener('click', event => { if (event.target === help) toggleHelp(); });

        const ACTIONS = { p: togglePanel, s: saveSnapshot, f: toggleScreen, t: toggleTheme, '?': toggleHelp };
        document.addEventListener('keydown', event => {
          if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
          const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
          root.classList.remove('bare');
          if (help.open && key !== '?') return;
          if (!Object.prototype.hasOwnProperty.call(ACTIONS, key)) return;
          event.preventDefault();
          ACTIONS[key]();
        });
        $('panel-button').addEventListener('click', togglePanel);
        $('snapshot-button').addEventListener('click', saveSnapshot);
        $('screen-button').addEventListener('click', toggleScreen);
        $('theme-button').addEventListener('click', toggleTheme);
        $('help-button').addEventListener('click', toggleHelp);
        $('help-close').addEventListener('click', toggleHelp);

        // A hidden tab asks nothing, and after a while it lets the stream go: nothing is encoded for nobody.
        let restTimer = 0;
        document.addEventListener('visibilitychange', () => {
          clearTimeout(restTimer);
          if (document.hidden) {
            clearTimeout(poll.timer);
            restTimer = setTimeout(disconnect, 30000);
          } else resume();
        });
        function resume() {
          if (!stream.image && !stream.next) connect();
          render();
          ask();
        }
        window.addEventListener('online', ask);
        window.addEventListener('pageshow', event => { if (event.persisted) { disconnect(); resume(); } });
        window.addEventListener('resize', drawPlots);

        takeColours();
        const remembered = memory.get('mjpeg-viewer-panel');
        openPanel(remembered ? remembered === 'open' : innerWidth >= 900 && innerHeight >= 560);
        render();
        connect();
        ask();
        """#
}
