extension ViewerPage {
    /// Where each part stands: desktop, telephone upright, telephone on its side; and what the user's system asks for.
    static let layout = #"""
        :root {
          --top: calc(12px + env(safe-area-inset-top)); --right: calc(12px + env(safe-area-inset-right));
          --bottom: calc(12px + env(safe-area-inset-bottom)); --left: calc(12px + env(safe-area-inset-left));
        }
        #status { top: calc(var(--top) + 8px); left: var(--left); }
        #tools { top: var(--top); right: var(--right); }
        #panel { top: calc(var(--top) + 56px); right: var(--right); width: 276px; max-height: calc(100% - 80px); overflow: auto; }
        #toast { bottom: var(--bottom); }

        /* The notice stands beside the panel where it would lie under it. */
        @media (max-width: 960px) and (max-height: 920px) { .panel-open #notice { right: 288px; } }

        /* Upright: the picture in the upper half, the buttons where the thumb is, the plots between them. */
        @media (max-width: 640px) and (orientation: portrait) {
          .picture, #still { object-position: 50% 34%; }
          #notice, .panel-open #notice { right: 0; bottom: 22%; }
          #tools { top: auto; right: 0; bottom: var(--bottom); left: 0; width: max-content; margin: 0 auto; }
          #panel { top: auto; right: var(--right); bottom: calc(var(--bottom) + 56px); left: var(--left); width: auto; max-height: calc(100% - 130px); }
          #panel:not(.open) { transform: translateY(4px); }
          #plots { grid-template-columns: 1fr 1fr; gap: 12px 18px; }
          .plot canvas { height: 52px; }
          .range i { display: none; }
          .range .dash { display: inline; }
          #toast { bottom: calc(var(--bottom) + 60px); z-index: 1; }
          #status { top: var(--top); }
        }

        @media (max-width: 640px) and (max-height: 640px) and (orientation: portrait) {
          .panel-open #notice { bottom: 40%; }
        }

        /* On its side: the buttons along the right edge, beside the picture. */
        @media (max-height: 500px) and (orientation: landscape) {
          #status { top: var(--top); }
          #tools { top: 0; bottom: 0; flex-direction: column; height: max-content; margin: auto 0; }
          #notice, .panel-open #notice { right: 0; padding-right: 72px; }
          .panel-open #notice { top: calc(var(--top) + 192px); padding-top: 0; }
          #card { width: min(480px, 100%); padding: 12px 20px 14px; }
          #card svg { display: none; }
          #panel { top: var(--top); right: calc(var(--right) + 56px); width: min(420px, calc(100% - 230px)); max-height: calc(100% - 24px); }
          #plots { grid-template-columns: 1fr 1fr; gap: 10px 18px; }
          .plot canvas { height: 44px; }
          .range i { display: none; }
          .range .dash { display: inline; }
        }
        @media (max-height: 280px) and (orientation: landscape) {
          #tools { flex-direction: row; top: auto; bottom: var(--bottom); }
        }

        #status, #tools { transition: opacity .2s, visibility .2s; }
        .bare #status, .bare #tools { opacity: 0; visibility: hidden; }
        .idle #status, .idle #tools:not(:focus-within) { opacity: 0; }
        .idle.idle * { cursor: none; }

        @media (prefers-reduced-motion: reduce) {
          *, ::before, ::after { animation: none !important; transition: none !important; }
          .waiting #card { animation: late .9s step-end !important; }
        }
        @media (prefers-reduced-transparency: reduce) {
          .glass { background: var(--solid); -webkit-backdrop-filter: none; backdrop-filter: none; }
        }
        @media (prefers-contrast: more) {
          :root, :root[data-theme] { --muted: var(--text); --glass: var(--solid); --edge: var(--text); --hair: var(--text); }
        }
        """#
}
