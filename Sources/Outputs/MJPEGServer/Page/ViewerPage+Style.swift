extension ViewerPage {
    /// Colours, and how each part looks.
    static let style = #"""
        :root {
          color-scheme: dark;
          --stage: #0c0e11; --text: #f3f5f7; --muted: #b9c0c8;
          --glass: rgba(18, 21, 25, .82); --solid: #15181c; --edge: rgba(255, 255, 255, .10);
          --hover: rgba(255, 255, 255, .10); --hair: rgba(255, 255, 255, .20); --focus: #8fcbff;
          --curve: #74bdff; --second: #9aa4af; --drop: #ff9d66;
          --good: #4cd07d; --wait: #f5b849; --bad: #ff7a70;
          --shadow: 0 1px 2px rgba(0, 0, 0, .30), 0 8px 28px rgba(0, 0, 0, .28);
        }
        :root[data-theme="light"] {
          color-scheme: light;
          --stage: #e8eaed; --text: #14181d; --muted: #4a525c;
          --glass: rgba(255, 255, 255, .86); --solid: #ffffff; --edge: rgba(10, 20, 30, .10);
          --hover: rgba(10, 20, 30, .08); --hair: rgba(10, 20, 30, .22); --focus: #0a63c9;
          --curve: #0b6bd3; --second: #7a848f; --drop: #c4440f;
          --good: #1a8f49; --wait: #b97700; --bad: #cf3027;
          --shadow: 0 1px 2px rgba(10, 20, 30, .12), 0 8px 28px rgba(10, 20, 30, .14);
        }
        * { box-sizing: border-box; margin: 0; }
        html, body { height: 100%; overflow: hidden; overscroll-behavior: none; background: var(--stage); }
        body {
          color: var(--text); font: 13px/20px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
          font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; -webkit-tap-highlight-color: transparent;
        }
        [hidden] { display: none !important; }
        .glass {
          background: var(--glass); border: 1px solid var(--edge); border-radius: 14px; box-shadow: var(--shadow);
          -webkit-backdrop-filter: blur(24px) saturate(.8); backdrop-filter: blur(24px) saturate(.8);
        }
        @supports not ((backdrop-filter: blur(1px)) or (-webkit-backdrop-filter: blur(1px))) {
          .glass { background: var(--solid); }
        }

        #stage { position: fixed; inset: 0; background: var(--stage); }
        .picture, #still {
          position: absolute; inset: 0; width: 100%; height: 100%; object-fit: contain;
          -webkit-user-select: none; user-select: none; -webkit-touch-callout: none;
        }
        .picture { visibility: hidden; color: transparent; }
        .picture.shown { visibility: visible; }
        .pictured #still { visibility: hidden; }
        .picture, #still { transition: filter .3s, opacity .3s; }
        .away .picture, .away #still { filter: blur(22px) saturate(.35); opacity: .3; }
        .lost .picture, .lost #still, .broken .picture, .broken #still { filter: saturate(.25); opacity: .45; }
        .broken .picture, .broken #still { transition-delay: .6s; }

        #status {
          position: fixed; display: flex; align-items: center; height: 32px; padding: 0 12px 0 11px; border-radius: 16px;
          white-space: nowrap; pointer-events: none;
        }
        #dot { width: 8px; height: 8px; margin-right: 8px; border-radius: 50%; background: var(--wait); }
        .live #dot { background: var(--good); }
        .away #dot { background: var(--second); }
        .lost #dot { background: var(--bad); }
        #size { color: var(--muted); }
        #size:not(:empty) { margin-left: 8px; }

        #notice { position: fixed; inset: 0; display: grid; place-items: center; padding: 16px; pointer-events: none; }
        #card { width: min(360px, 100%); padding: 22px 26px 24px; text-align: center; animation: rise .25s ease-out; }
        #card svg { width: 28px; height: 28px; margin-bottom: 8px; color: var(--muted); }
        #card h1 { font-size: 16px; line-height: 24px; font-weight: 600; overflow-wrap: anywhere; }
        #card p { margin-top: 4px; color: var(--muted); overflow-wrap: anywhere; }
        #card p:empty { display: none; }
        .waiting #card { animation: late .9s ease-out; }
        @keyframes rise { from { opacity: 0; transform: translateY(6px); } }
        @keyframes late { 0%, 70% { opacity: 0; } }

        svg { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
        svg .solid { fill: currentColor; stroke: none; }
        #tools { position: fixed; display: flex; padding: 1px; }
        #tools button {
          width: 44px; height: 44px; padding: 12px; border: 0; border-radius: 12px; background: none; color: inherit;
          cursor: pointer; touch-action: manipulation;
        }
        #tools svg { display: block; width: 20px; height: 20px; }
        #tools button[aria-expanded="true"] { color: var(--curve); }
        #tools button[aria-busy="true"] { opacity: .5; }
        @media (hover: hover) { #tools button:hover, #help button:hover { background: var(--hover); } }
        #tools button:active { background: var(--hover); }
        .when-on, .full .when-off { display: none; }
        .full .when-on { display: inline; }
        :focus { outline: none; }
        :focus-visible { outline: 2px solid var(--focus); outline-offset: -2px; }

        #panel { position: fixed; padding: 12px 14px 8px; transition: opacity .16s, transform .16s, visibility .16s; }
        #panel:not(.open) { visibility: hidden; opacity: 0; transform: translateY(-4px); }
        #plots { display: grid; gap: 8px 18px; }
        .plot {
          position: relative; display: flex; flex-wrap: wrap; justify-content: space-between; min-width: 0; border-radius: 6px;
          cursor: crosshair; touch-action: pan-y; -webkit-user-select: none; user-select: none;
        }
        .plot:focus-visible { outline-offset: 4px; }
        .label, .range { color: var(--muted); }
        .range { position: absolute; left: 0; visibility: hidden; white-space: nowrap; }
        .range i { font-style: normal; }
        .range .dash { display: none; }
        .reading .label { visibility: hidden; }
        .reading .range { visibility: visible; }
        .value { font-weight: 600; white-space: nowrap; }
        .value i { margin-left: 3px; font-style: normal; font-weight: 400; color: var(--muted); }
        .plot canvas { display: block; width: 100%; height: 38px; }
        #foot {
          display: flex; justify-content: space-between; gap: 12px; margin-top: 10px;
          font-size: 12px; color: var(--muted); white-space: nowrap;
        }

        #toast {
          position: fixed; left: 50%; max-width: calc(100% - 24px); padding: 8px 16px; border-radius: 18px;
          transform: translate(-50%, 6px); opacity: 0; visibility: hidden; overflow-wrap: anywhere;
          transition: opacity .16s, transform .16s, visibility .16s; pointer-events: none;
        }
        #toast.open { transform: translate(-50%, 0); opacity: 1; visibility: visible; }
        #spoken { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

        dialog:not([open]) { display: none; }
        #help {
          position: fixed; inset: 0; height: -moz-fit-content; height: fit-content; width: min(400px, calc(100% - 24px)); max-height: calc(100% - 24px); margin: auto; padding: 20px 22px; overflow: auto;
          border: 1px solid var(--edge); border-radius: 16px; background: var(--solid); color: var(--text);
          box-shadow: var(--shadow); font-size: 14px; line-height: 22px;
        }
        #help::backdrop { background: rgba(0, 0, 0, .45); }
        #help h2 { font-size: 17px; line-height: 24px; }
        #help h3 { margin-top: 14px; font-size: 14px; }
        #help dl { margin: 10px 0 12px; }
        #help dl div { display: flex; gap: 12px; padding: 3px 0; }
        #help dt { width: 28px; text-align: center; }
        #help dd, #help p, #help li span { color: var(--muted); }
        #help .pair { white-space: nowrap; }
        #help ul { padding: 0; list-style: none; }
        #help li { display: flex; align-items: center; gap: 10px; }
        #help a { min-width: 84px; padding: 6px 0; color: var(--curve); text-decoration: none; }
        @media (pointer: coarse) { #help a { padding: 11px 0; } }
        #help a:hover { text-decoration: underline; }
        #help button {
          display: block; min-width: 88px; height: 44px; margin: 14px 0 0 auto; border: 1px solid var(--edge); border-radius: 12px;
          background: none; color: inherit; font: inherit; font-weight: 600; cursor: pointer;
        }
        kbd {
          display: inline-block; min-width: 24px; padding: 0 6px; border: 1px solid var(--hair); border-radius: 6px;
          font: inherit; font-size: 12px; line-height: 20px; text-align: center; color: var(--text);
        }
        """#
}
