// Runs before the first paint: applies the theme that the viewer has chosen here, or else the system's.
(() => {
  'use strict';
  const root = document.documentElement, name = 'mjpeg-viewer-theme';
  const light = matchMedia('(prefers-color-scheme: light)');
  const system = () => light.matches ? 'light' : 'dark';
  let chosen = null;
  try { chosen = localStorage.getItem(name); } catch (refused) { /* works without a memory */ }
  const show = () => {
    root.dataset.theme = chosen === 'light' || chosen === 'dark' ? chosen : system();
    const bar = document.querySelector('meta[name="theme-color"]');
    bar.content = root.dataset.theme === 'light' ? '#e8eaed' : '#0c0e11';
    root.dispatchEvent(new Event('themechange'));
  };
  const follow = () => show();
  if (light.addEventListener) light.addEventListener('change', follow); else light.addListener(follow);
  // Back at what the system shows, the choice is forgotten: the page follows the system again.
  root.addEventListener('toggletheme', () => {
    const next = root.dataset.theme === 'light' ? 'dark' : 'light';
    chosen = next === system() ? null : next;
    try {
      if (chosen) localStorage.setItem(name, chosen); else localStorage.removeItem(name);
    } catch (refused) { /* as above */ }
    show();
  });
  show();
})();
