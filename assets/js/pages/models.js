/* The Models page in the browser: an address may ask for a phase to be expanded. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const WAITS = [0, 150, 500, 1000];

  api.models = {
    /* Scroll to the form and put the focus into it. What is drawn above it later may push it away, so this is
       repeated for a moment, unless a person has gone on. */
    goToExpand: function (asked) {
      if (!asked) return api.no_update;
      const field = () => document.getElementById("expand-phase");
      WAITS.forEach((wait) => setTimeout(function () {
        const at = field(), active = document.activeElement;
        if (!at || (wait && active && active !== document.body && active !== at)) return;
        const card = at.closest(".card");
        if (card) card.scrollIntoView({ block: "center" });
        at.focus({ preventScroll: true });
      }, wait));
      return api.no_update;
    },
  };
})();
