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
    dom.all("table[data-table=experiments] tbody tr").forEach((row) => { row.hidden = !(row.dataset.filter || "").includes(text); });
    write({ text: field.value });
  });

  /* Which tick of which run the page last gave to the slider, which shows it a little later; null once a person
     moves the slider itself. */
  let wanted = null, of = null, dragging = false;
  function bar() {
    return dom.all(".tickbar")[0];
  }
  function shown() {
    const thumb = document.querySelector(".tickbar [role=slider]");
    return thumb ? Number(thumb.getAttribute("aria-valuenow")) : 0;
  }
  function now() {
    return wanted !== null && of === bar().dataset.run ? wanted : shown();
  }
  function go(tick) {
    of = bar().dataset.run;
    wanted = Math.max(0, Math.min(tick, Number(bar().dataset.last)));
    api.set_props("tick", { value: wanted });
  }
  function nextDecision() {
    const at = now();
    const next = JSON.parse(bar().dataset.busy || "[]").find((tick) => tick > at);
    if (next !== undefined) go(next);
  }

  /* The slider says its value only when it is let go of: one that says every value back would undo the next key. */
  document.addEventListener("pointerdown", function (event) {
    dragging = dom.closest(event, ".tickbar .mantine-Slider-root") !== null;
    if (dragging) wanted = null;
  });
  document.addEventListener("pointermove", function () {
    if (dragging && bar() && shown() !== wanted) go(shown());
  });
  document.addEventListener("pointerup", function () {
    if (dragging) wanted = null;
    dragging = false;
  });
  document.addEventListener("click", function (event) {
    const button = dom.closest(event, "[data-step], .moment[data-tick]");
    if (!button || !bar()) return;
    if (button.dataset.tick !== undefined) go(parseInt(button.dataset.tick, 10));
    else if (button.dataset.step === "decision") nextDecision();
    else go(now() + parseInt(button.dataset.step, 10));
  });
  document.addEventListener("keydown", function (event) {
    if (!bar() || dom.typing(event)) return;
    if (dom.closest(event, "[role=slider]")) { wanted = null; return; }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (document.querySelector(".mantine-Modal-content, .mantine-Drawer-content")) return;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      event.preventDefault();
      go(now() + (event.key === "ArrowRight" ? 1 : -1));
    }
  });

  /* Other jobs at the same moment: the slider has gone on since the link was made. */
  document.addEventListener("click", function (event) {
    const way = dom.closest(event, ".samemoment a");
    if (!way || !bar()) return;
    const to = new URL(way.href), here = new URL(window.location.href);
    for (const name of ["tick", "job"]) {
      const value = here.searchParams.get(name);
      if (value === null) to.searchParams.delete(name); else to.searchParams.set(name, value);
    }
    way.href = to.pathname + to.search;
  }, true);

  api.runs = {
    /* Results that are on the page already are not drawn again: that would close a menu. An answer that was
       overtaken would take newer ones away, and one of an address that is no longer open would undo the choice
       that led away from it. */
    draw: function (fresh) {
      const mark = document.getElementById("run-mark");
      const known = fresh && mark && (mark.dataset.mark === fresh.mark || fresh.at < Number(mark.dataset.at));
      return !fresh || known || fresh.address !== window.location.search ? api.no_update : fresh.page;
    },
    /* In figures of a whole run the line at the tick moves; they need not be made again for that. */
    line: function (tick, times, figures, ids) {
      const at = (times || [])[tick || 0];
      return ids.map((id, place) => {
        const figure = figures[place];
        const line = figure && figure.layout && figure.layout.shapes && figure.layout.shapes[0];
        if (at === undefined || !line || !/^(queue$|cores-)/.test(id.name) || line.x0 === at) return api.no_update;
        const shapes = [Object.assign({}, line, { x0: at, x1: at }), ...figure.layout.shapes.slice(1)];
        return Object.assign({}, figure, { layout: Object.assign({}, figure.layout, { shapes: shapes }) });
      });
    },
    /* The tick and the job go into the address, so that a colleague sees the same moment. */
    address: function (tick, job) {
      write({ tick: tick || null, job: job });
      return api.no_update;
    },
  };
})();
