/* One listener for all buttons of lists that are drawn again and again: a click on an element with
   data-act puts {act, id} into the store that data-store names. Such a list costs no callback per row. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));

  document.addEventListener("click", function (event) {
    const element = window.phasedock.dom.closest(event, "[data-act]");
    if (!element || element.disabled) return;
    api.set_props(element.dataset.store, {
      data: { act: element.dataset.act, id: element.dataset.id || "", at: Date.now() },
    });
  });

  api.actions = {
    /* A page that nobody looks at asks the server nothing. */
    whileVisible: function (tick) {
      return document.hidden ? api.no_update : tick;
    },
  };
})();
