// The theme: what the system asks for, until a reader says otherwise.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try { return localStorage.getItem("theme"); } catch { return null; } // a browser may forbid it
  };
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const say = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
    button.hidden = false;
    say();
    system.addEventListener("change", say);
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page */ }
      say();
    });
  });
})();
