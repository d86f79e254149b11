/* The Runs pages in the browser: the list's filter, and stepping through a ledger. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));

  const dom = window.phasedock.dom;

  function write(changes) {
    const url = new URL(window.location.href);
    for (const key in changes) {
      if (changes[key] === null || changes[key] === "" || changes[key] === undefined) url.searchParams.delete(key);
      else url.searchParams.set(key, changes[key]);
    }
    window.history.replaceState(window.history.state, "", url);
  }

  document.addEventListener("input", function (event) {
    const field = dom.field(event, "runs-filter");
    if (!field) return;
    const text = field.value.toLowerCase();
    dom.all("#runs-rows tr").forEach((row) => { row.hidden = !(row.dataset.filter || "").includes(text); });
    write({ text: field.value });
  });

  /* Which tick the ledger is at: the slider's value as the page last set it, which the server may not know yet. */
  let wanted = null, of = null;
  function bar() {
    return dom.all(".tickbar")[0];
  }
  function now() {
    if (of !== bar().dataset.run) wanted = null;
    const thumb = document.querySelector(".tickbar [role=slider]");
    return wanted !== null ? wanted : thumb ? Number(thumb.getAttribute("aria-valuenow")) : 0;
  }
  function go(tick) {
    const last = Number(bar().dataset.last);
    of = bar().dataset.run;
    wanted = Math.max(0, Math.min(tick, last));
    api.set_props("tick", { value: wanted });
  }
  function nextDecision() {
    const at = now();
    const next = JSON.parse(bar().dataset.busy || "[]").find((tick) => tick > at);
    if (next !== undefined) go(next);
  }

  document.addEventListener("click", function (event) {
    const button = dom.closest(event, "[data-step], .moment[data-tick]");
    if (!button || !bar()) return;
    if (button.dataset.tick !== undefined) go(parseInt(button.dataset.tick, 10));
    else if (button.dataset.step === "decision") nextDecision();
    else go(now() + parseInt(button.dataset.step, 10));
  });
  document.addEventListener("keydown", function (event) {
    if (!bar() || dom.typing(event)) return;
    if (dom.closest(event, "[role=slider]")) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (document.querySelector(".mantine-Modal-content, .mantine-Drawer-content")) return;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      event.preventDefault();
      go(now() + (event.key === "ArrowRight" ? 1 : -1));
    }
  });

  api.runs = {
    /* The tick and the job go into the address, so that a colleague sees the same moment. */
    address: function (tick, job) {
      if ((tick || 0) === wanted) wanted = null; // a later step may be on its way already
      write({ tick: tick || null, job: job });
      return api.no_update;
    },
  };
})();
