/* Loaded in the head, before anything is drawn, so that a dark page never flashes light. */
(function () {
  "use strict";
  let kept = null;
  try { kept = localStorage.getItem("mantine-color-scheme-value"); } catch { kept = null; }
  const dark = kept === "dark" || ((!kept || kept === "auto") && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
