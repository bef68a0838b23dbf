extension ViewerPage {
    static let head = #"""
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
        <meta name="color-scheme" content="dark light">
        <meta name="theme-color" content="#0c0e11">
        <meta name="referrer" content="no-referrer">
        <meta name="robots" content="noindex">
        <title>Connecting</title>
        <noscript><style>#status, #tools, #panel { display: none; }</style></noscript>
        <link rel="icon" id="favicon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%2314181d'/%3E%3Ccircle cx='16' cy='16' r='7' fill='%23f5b849'/%3E%3C/svg%3E">
        """#

    static let body = #"""
        <main id="stage" aria-label="Live picture">
        <canvas id="still" aria-hidden="true"></canvas>
        <noscript><img class="picture shown" src="stream" alt="Live picture"></noscript>
        </main>

        <div id="status" class="glass"><span id="dot"></span><span id="word">Connecting</span><span id="size"></span></div>

        <div id="notice" hidden>
        <div id="card" class="glass">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 3l18 18M10.5 6H17a2 2 0 0 1 2 2v1.5l3-1.5v8l-2-1M15 18H5a2 2 0 0 1-2-2V8a2 2 0 0 1 1.2-1.8"/></svg>
        <h1 id="headline"></h1>
        <p id="detail"></p>
        </div>
        </div>

        <div id="tools" class="glass" role="toolbar" aria-label="Viewer">
        <button id="panel-button" aria-controls="panel" aria-keyshortcuts="p" title="Statistics (P)" aria-label="Statistics">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 17l5-6 4 4 4-8 5 6"/></svg></button>
        <button id="snapshot-button" aria-keyshortcuts="s" title="Snapshot (S)" aria-label="Save a snapshot">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 8h3.2l1.6-2.5h6.4L16.8 8H20a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1z"/><circle cx="12" cy="13.2" r="3.4"/></svg></button>
        <button id="screen-button" aria-keyshortcuts="f" title="Full screen (F)" aria-label="Full screen">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path class="when-off" d="M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4"/><path class="when-on" d="M9 4v4a1 1 0 0 1-1 1H4M20 9h-4a1 1 0 0 1-1-1V4M15 20v-4a1 1 0 0 1 1-1h4M4 15h4a1 1 0 0 1 1 1v4"/></svg></button>
        <button id="theme-button" aria-keyshortcuts="t" title="Light or dark (T)" aria-label="Light or dark">
        <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="8"/><path class="solid" d="M12 4a8 8 0 0 1 0 16z"/></svg></button>
        <button id="help-button" aria-haspopup="dialog" aria-keyshortcuts="?" title="Help (?)" aria-label="Help">
        <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8.6 9a3.5 3.5 0 1 1 5.3 3c-1.2.8-1.9 1.5-1.9 3"/><path d="M12 18.6v.1"/></svg></button>
        </div>

        <section id="panel" class="glass" aria-label="Statistics of the last minute">
        <div id="plots">
        <div class="plot" id="fps" tabindex="0" role="img"><span class="label">Frame rate</span><span class="range"><i>min </i><span class="lowest"></span><i class="stop"> · max </i><i class="dash"> – </i><span class="highest"></span></span><span class="value"></span><canvas></canvas></div>
        <div class="plot" id="latency" tabindex="0" role="img"><span class="label">Latency</span><span class="range"><i>min </i><span class="lowest"></span><i class="stop"> · max </i><i class="dash"> – </i><span class="highest"></span></span><span class="value"></span><canvas></canvas></div>
        <div class="plot" id="bitrate" tabindex="0" role="img"><span class="label">Bitrate</span><span class="range"><i>min </i><span class="lowest"></span><i class="stop"> · max </i><i class="dash"> – </i><span class="highest"></span></span><span class="value"></span><canvas></canvas></div>
        <div class="plot" id="drops" tabindex="0" role="img"><span class="label">Drops</span><span class="range"><i>min </i><span class="lowest"></span><i class="stop"> · max </i><i class="dash"> – </i><span class="highest"></span></span><span class="value"></span><canvas></canvas></div>
        </div>
        <div id="foot"><span id="moment">Last minute</span><span id="source"></span></div>
        </section>

        <div id="toast" class="glass" role="status"></div>
        <div id="spoken" role="status"></div>

        <dialog id="help" aria-labelledby="help-title">
        <h2 id="help-title">Help</h2>
        <dl id="keys">
        <div><dt><kbd>P</kbd></dt><dd>Statistics</dd></div>
        <div><dt><kbd>S</kbd></dt><dd>Save a snapshot</dd></div>
        <div><dt><kbd>F</kbd></dt><dd>Full screen, also by a double click</dd></div>
        <div><dt><kbd>T</kbd></dt><dd>Light or dark</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>This help</dd></div>
        </dl>
        <p>Point at a plot, tap it, or move along it with <span class="pair"><kbd>&larr;</kbd> <kbd>&rarr;</kbd></span> to read a moment, and the lowest and highest value of the minute. A tap on the picture hides the buttons.</p>
        <h3>For other programs</h3>
        <ul>
        <li><a href="stream" target="_blank" rel="noopener">stream</a> <span>the live picture</span></li>
        <li><a href="snapshot" target="_blank" rel="noopener">snapshot</a> <span>the newest frame</span></li>
        <li><a href="state" target="_blank" rel="noopener">state</a> <span>JSON</span></li>
        <li><a href="metrics" target="_blank" rel="noopener">metrics</a> <span>Prometheus</span></li>
        </ul>
        <button id="help-close" autofocus>Close</button>
        </dialog>
        """#
}
