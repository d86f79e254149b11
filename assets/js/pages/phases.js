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
  const rules = (window.dashAgGridFunctions = window.dashAgGridFunctions || /** @type {AgGridFunctions} */ ({}));
  rules.isChosenExecution = (params) => Boolean(params.data) && params.data.name === chosenName(params.context);
  function timeline() {
    return /** @type {PlotlyElement[]} */ (dom.all(".js-plotly-plot"))
      .find((plot) => plot.layout && plot.layout.meta && plot.layout.meta.time_axis);
  }

  /* The rows of the list are fetched as it is scrolled, so that the chosen one need not be there; its place
     in the order that is shown comes with every answer. -1: a search hides it. */
  const shown = { grid: /** @type {any} */ (null), query: "", place: -1, ready: false };
  function ask(start, end) {
    const grid = list();
    const chosen = () => chosenName(grid && grid.getGridOption("context")) || "";
    const name = chosen();
    const query = shown.query;
    return fetch(`${dom.at(query)}&${new URLSearchParams({ start, end, at: name })}`)
      .then((answer) => answer.json())
      .then(function (answer) {
        if (query !== shown.query) return ask(start, end); // another search began while this one was answered
        if (name === chosen()) shown.place = answer.at;
        return answer;
      });
  }
  function show(grid, place, where) {
    if (place >= 0 && place < grid.getDisplayedRowCount()) grid.ensureIndexVisible(place, where);
  }
  function choose(name, place) {
    const grid = list();
    if (!grid || !name || name === chosenName(grid.getGridOption("context"))) return;
    const url = new URL(window.location.href);
    url.searchParams.set("execution", name);
    ["x0", "x1"].forEach((key) => url.searchParams.delete(key));
    window.history.replaceState(window.history.state, "", url);
    grid.redrawRows();
    if (place === undefined) {
      ask(0, 0).then((answer) => show(grid, answer.at));
    } else {
      shown.place = place;
      show(grid, place);
      const focused = document.activeElement;
      if (focused && focused.closest("#executions .ag-root")) grid.setFocusedCell(place, "name");
    }
    clearTimeout(pending);
    pending = setTimeout(function () {
      api.set_props("chosen-execution", { data: name });
      told.set(name, performance.now());
      api.set_props("phone-execution", { data: [name], value: name });
    }, SETTLE_MS);
  }
  /* The execution before or after the chosen one, in the order that is shown. Keys that come while a row
     is fetched wait for it; a phone hides the list, which fetches none then. */
  let steps = Promise.resolve();
  function step(by) {
    steps = steps.then(() => stepOnce(by)).catch(() => {});
  }
  async function stepOnce(by) {
    const grid = await window.dash_ag_grid.getApiAsync("executions");
    for (let tries = 0; !shown.ready && tries < 100; tries++) await new Promise((wake) => setTimeout(wake, 50));
    if (!shown.ready) return;
    const place = Math.max(0, Math.max(0, shown.place) + by);
    const row = grid.getDisplayedRowAtIndex(place);
    const next = row && row.data ? row.data : (await ask(place, place + 1)).rows[0];
    if (next) choose(next.name, place);
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
    if (row) choose(row.getAttribute("row-id"), Number(row.getAttribute("row-index")));
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
    /* The rows that the list asks for; the first answer to a search shows the chosen one. */
    rows: async function (request, address, find, order) {
      if (!request) return api.no_update;
      const query = `${address}&${new URLSearchParams({ find: find || "", order })}`;
      if (query !== shown.query || list() !== shown.grid) Object.assign(shown, { query, grid: list(), ready: false });
      const answer = await ask(request.startRow, request.endRow);
      const first = !shown.ready;
      shown.ready = true;
      setTimeout(function () {
        const grid = list();
        if (!grid) return;
        if (first) show(grid, answer.at, "middle");
        grid.redrawRows(); // a row that was drawn before its data came is not marked as the chosen one
      }, 50);
      return { rowData: answer.rows, rowCount: answer.count };
    },
    /* Another search, order or minimum dwell time: the rows are asked for again. */
    again: function (address, find, order) {
      const grid = list();
      const query = `${address}&${new URLSearchParams({ find: find || "", order })}`;
      if (!grid || query === shown.query) return api.no_update;
      Object.assign(shown, { query, ready: false });
      grid.purgeInfiniteCache();
      return api.no_update;
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
    order: function () {
      return JSON.parse(api.callback_context.triggered[0].prop_id.split(".n_clicks")[0]).by;
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
