/* The Phases page in the browser: moving between executions, and the zoom of the timeline.

   The address says which execution is chosen, and is written at once, so the next key starts from where
   the last one went, however fast they come; phone picker and timeline follow. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const dom = window.phasedock.dom;
  const SETTLE_MS = 40;
  let pending = null;
  /* When the phone's picker was told to show an execution: it echoes that late, and more than once,
     which is not a person's choice. */
  const told = new Map();
  const ECHO_MS = 2000;

  const same = (some, others) => some.split(",").sort().join() === others.split(",").sort().join();
  function list() {
    try { return window.dash_ag_grid.getApi("executions"); } catch { return null; }
  }
  /* Without one in the address, it is the one that the server put into the list's context. */
  function chosenName(context) {
    return new URLSearchParams(window.location.search).get("execution") || (context && context.chosen);
  }
  function chosen(grid) {
    return grid.getRowNode(chosenName(grid.getGridOption("context")));
  }
  const rules = (window.dashAgGridFunctions = window.dashAgGridFunctions || /** @type {AgGridFunctions} */ ({}));
  rules.isChosenExecution = (params) => Boolean(params.data) && params.data.name === chosenName(params.context);
  function timeline() {
    return /** @type {PlotlyElement[]} */ (dom.all(".js-plotly-plot"))
      .find((plot) => plot.layout && plot.layout.meta && plot.layout.meta.time_axis);
  }

  function choose(name) {
    const grid = list();
    const next = grid && grid.getRowNode(name);
    const before = grid && chosen(grid);
    if (!next || next === before) return;
    const url = new URL(window.location.href);
    url.searchParams.set("execution", name);
    ["x0", "x1"].forEach((key) => url.searchParams.delete(key));
    window.history.replaceState(window.history.state, "", url);
    grid.redrawRows({ rowNodes: [before, next].filter(Boolean) });
    if (next.rowIndex !== null) {
      grid.ensureIndexVisible(next.rowIndex);
      const focused = document.activeElement;
      if (focused && focused.closest("#executions .ag-root")) grid.setFocusedCell(next.rowIndex, "name");
    }
    clearTimeout(pending);
    pending = setTimeout(function () {
      api.set_props("chosen-execution", { data: name });
      told.set(name, performance.now());
      api.set_props("phone-execution", { value: name });
    }, SETTLE_MS);
  }
  /* The execution before or after the chosen one, in the order that is shown. A key that comes before
     the list is there waits for it. */
  function step(by, tries) {
    const grid = list();
    const from = grid && chosen(grid);
    if (!from) {
      if ((tries || 0) < 30) setTimeout(() => step(by, (tries || 0) + 1), 100);
      return;
    }
    const last = grid.getDisplayedRowCount() - 1;
    const row = grid.getDisplayedRowAtIndex(Math.max(0, Math.min((from.rowIndex || 0) + by, last)));
    if (row) choose(row.data.name);
  }
  function zoomOut() {
    const graph = timeline();
    if (graph) window.phasedock.figures.showRange(graph, graph.layout.meta.full);
  }
  /* By keyboard: half or double the time around the middle, or a quarter of it earlier or later. */
  function zoomBy(factor, shift) {
    const graph = timeline();
    if (!graph) return;
    const [first, last] = graph.layout.meta.full, [from, to] = graph.layout.xaxis.range;
    const wide = Math.min((to - from) * factor, last - first);
    const start = (from + to - wide) / 2 + shift * (to - from);
    const low = Math.max(first, Math.min(start, last - wide));
    window.phasedock.figures.showRange(graph, [low, low + wide]);
  }
  const ZOOMS = { "+": [0.5, 0], "=": [0.5, 0], "-": [2, 0], ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] };

  document.addEventListener("click", function (event) {
    const row = dom.closest(event, "#executions .ag-row");
    if (row) choose(row.getAttribute("row-id"));
  });
  document.addEventListener("keydown", function (event) {
    if (!document.querySelector(".executions") || dom.typing(event)) return;
    if (document.querySelector(".mantine-Modal-content, .mantine-Drawer-content, .mantine-Menu-dropdown")) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      zoomOut();
    } else if (ZOOMS[event.key] && !event.ctrlKey && !event.metaKey && !dom.closest(event, ".tablewrap, .cards")) {
      zoomBy(ZOOMS[event.key][0], ZOOMS[event.key][1]);
    }
  });

  api.phases = {
    fill: function (rows) {
      return JSON.parse(rows || "[]");
    },
    pick: function (name) {
      const echo = performance.now() - (told.get(name) || -Infinity) < ECHO_MS;
      if (name && !echo && window.innerWidth < 768) choose(name);
      return api.no_update;
    },
    step: function () {
      step(api.callback_context.triggered[0].prop_id.startsWith("step-on") ? 1 : -1);
      return api.no_update;
    },
    /* Lanes and minimum dwell time go into the address; the zoom stays, and one lane at least. */
    shown: function (lanes, dwell, beside, before) {
      const url = new URL(window.location.href);
      if (!lanes || !lanes.length) {
        api.set_props("lanes", { value: before.lanes.split(",").map(decodeURIComponent) });
        return api.no_update;
      }
      const others = (beside || []).map(encodeURIComponent).join(",");
      const after = { lanes: lanes.map(encodeURIComponent).join(","), dwell: dwell || "0", beside: others };
      if (same(after.lanes, before.lanes) && after.dwell === before.dwell && others === before.beside) return api.no_update;
      if (others !== before.beside) {
        if (others) url.searchParams.set("beside", others);
        else url.searchParams.delete("beside");
      }
      if (!same(after.lanes, before.lanes)) url.searchParams.set("lanes", after.lanes);
      if (after.dwell !== before.dwell) url.searchParams.set("dwell", after.dwell);
      window.history.replaceState(window.history.state, "", url);
      const ends = ["x0", "x1"].map((key) => parseFloat(url.searchParams.get(key) || ""));
      return Object.assign(after, { window: ends.every(Number.isFinite) ? ends : null });
    },
    filter: function (text, options) {
      return Object.assign({}, options, { quickFilterText: text || "" });
    },
    order: function (_clicks, rows) {
      const by = JSON.parse(api.callback_context.triggered[0].prop_id.split(".n_clicks")[0]).by;
      const compare = {
        file: (a, b) => a.place - b.place,
        name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
        seconds: (a, b) => b.seconds - a.seconds,
        runs: (a, b) => b.runs - a.runs,
        strange: (a, b) => b.strange - a.strange,
      }[by];
      return rows.slice().sort(compare);
    },
    /* Segments as labelled, or smoothed again. */
    raw: function (_clicks, smooth, dwell) {
      return dwell === "0" ? smooth : "0";
    },

    pressed: function (dwell) {
      return dwell === "0" ? "true" : "false";
    },

    zoomOut: function () {
      zoomOut();
      return false;
    },
  };
})();
