/* The Provisioning page in the browser: links that change a part of the page keep the place of the
   scroll, and a file is copied as it would be downloaded. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || {});

  document.addEventListener("click", function (event) {
    const link = event.target.closest && event.target.closest("a[data-stay]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    window.history.pushState({}, "", link.href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
  });

  /* Without a secure context there is no clipboard API; a selected text field does it there. */
  function write(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const field = document.createElement("textarea");
    field.value = text;
    document.body.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("the browser does not let pages copy"));
  }
  function say(button, text) {
    const label = button.querySelector("[data-label]");
    if (!label) return;
    label.textContent = text;
    setTimeout(function () { label.textContent = "Copy"; }, 2000);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest && event.target.closest("[data-copy]");
    if (!button) return;
    fetch(button.dataset.copy, { credentials: "same-origin" })
      .then(function (answer) { return answer.ok ? answer.text() : Promise.reject(new Error("refused")); })
      .then(write)
      .then(function () { say(button, "Copied"); })
      .catch(function () { say(button, "Not copied"); });
  });

  api.provisioning = {
    /* The policy that is drawn over the timeline goes into the address; the zoom stays. */
    overlay: function (policy) {
      const url = new URL(window.location.href);
      if (policy) url.searchParams.set("overlay", policy);
      else url.searchParams.delete("overlay");
      window.history.replaceState(window.history.state, "", url);
      const ends = ["x0", "x1"].map(function (key) { return parseFloat(url.searchParams.get(key)); });
      return { policy: policy || "", window: ends.every(Number.isFinite) ? ends : null };
    },
  };
})();
