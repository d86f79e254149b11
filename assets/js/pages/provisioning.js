/* The Provisioning page in the browser: links that change a part of the page keep the scroll position. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));

  document.addEventListener("click", function (event) {
    const link = window.phasedock.dom.closest(event, "a[data-stay]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    window.history.pushState({}, "", link.href);
    window.dispatchEvent(new PopStateEvent("popstate")); // as the browser's back button does; Dash follows
  });

  api.provisioning = {
    /* The usual policies, all, or none are ticked. */
    choose: function (_usual, _all, _none, groups) {
      const clicked = api.callback_context.triggered.find(function (each) { return each.value; });
      return clicked ? groups[clicked.prop_id.split(".")[0]] : api.no_update;
    },
    /* The policy that is drawn over the timeline goes into the address; the zoom stays. */
    overlay: function (policy) {
      const url = new URL(window.location.href);
      if (policy) url.searchParams.set("overlay", policy);
      else url.searchParams.delete("overlay");
      window.history.replaceState(window.history.state, "", url);
      const ends = ["x0", "x1"].map(function (key) { return parseFloat(url.searchParams.get(key) || ""); });
      return { policy: policy || "", window: ends.every(Number.isFinite) ? ends : null };
    },
  };
})();
