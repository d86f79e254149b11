/* The Runs pages in the browser: the list's filter, and stepping through a ledger. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || {});

  function write(changes) {
    const url = new URL(window.location.href);
    for (const key in changes) {
      if (changes[key] === null || changes[key] === "" || changes[key] === undefined) url.searchParams.delete(key);
      else url.searchParams.set(key, changes[key]);
    }
    window.history.replaceState(window.history.state, "", url);
  }

  document.addEventListener("input", function (event) {
    if (event.target.id !== "runs-filter") return;
    const text = event.target.value.toLowerCase();
    document.querySelectorAll("#runs-rows tr").forEach((row) => { row.hidden = !row.dataset.filter.includes(text); });
    write({ text: event.target.value });
  });

  /* Where the ledger is: the slider's value as the page last set it, which the server may not know yet. */
  let wanted = null, of = null;
  function bar() {
    return document.querySelector(".tickbar");
  }
  function now() {
    if (of !== bar().dataset.run) wanted = null;
    const thumb = document.querySelector(".tickbar [role=slider]");
    return wanted !== null ? wanted : thumb ? parseInt(thumb.getAttribute("aria-valuenow"), 10) : 0;
  }
  function go(tick) {
    const last = parseInt(bar().dataset.last, 10);
    of = bar().dataset.run;
    wanted = Math.max(0, Math.min(tick, last));
    api.set_props("tick", { value: wanted });
  }
  function nextDecision() {
    const at = now();
    const next = JSON.parse(bar().dataset.busy).find((tick) => tick > at);
    if (next !== undefined) go(next);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest && event.target.closest("[data-step], .moment[data-tick]");
    if (!button || !bar()) return;
    if (button.dataset.tick !== undefined) go(parseInt(button.dataset.tick, 10));
    else if (button.dataset.step === "decision") nextDecision();
    else go(now() + parseInt(button.dataset.step, 10));
  });
  document.addEventListener("keydown", function (event) {
    if (!bar() || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.target.getAttribute && event.target.getAttribute("role") === "slider") return;
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
      wanted = null;
      write({ tick: tick || null, job: job });
      return api.no_update;
    },
  };
})();
