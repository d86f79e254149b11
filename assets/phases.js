/* The Phases page in the browser: moving between executions, and the zoom of the timeline. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || {});

  function gridApi() {
    try { return window.dash_ag_grid.getApi("executions"); } catch (error) { return null; }
  }
  function timeline() {
    return document.querySelector('[id*=\'"name":"timeline"\'][id*=\'"type":"graph"\'] .js-plotly-plot, [id*="timeline"][id*="graph"].js-plotly-plot');
  }
  /* The execution that the address and the phone's picker followed last; only a choice that a person
     made in that picker leads the list. */
  let followed = null;

  /* The execution before or after the selected one, in the order that is shown. A key that comes
     before the list has settled waits for it. */
  function step(by, tries) {
    const grid = gridApi();
    const selected = grid && grid.getSelectedNodes()[0];
    if (!selected || followed !== selected.data.name) {
      if ((tries || 0) < 20) setTimeout(() => step(by, (tries || 0) + 1), 100);
      return;
    }
    const last = grid.getDisplayedRowCount() - 1;
    const next = grid.getDisplayedRowAtIndex(Math.max(0, Math.min((selected.rowIndex || 0) + by, last)));
    if (next && next !== selected) {
      next.setSelected(true, true);
      grid.ensureIndexVisible(next.rowIndex);
    }
  }
  function zoomOut() {
    const graph = timeline();
    if (graph && graph.layout && graph.layout.meta) window.phasedock.showRange(graph, graph.layout.meta.full);
  }
  document.addEventListener("keydown", function (event) {
    if (!document.getElementById("executions") || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (document.querySelector(".mantine-Modal-content, .mantine-Drawer-content, .mantine-Menu-dropdown")) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      zoomOut();
    }
  });

  api.phases = {
    /* The chosen execution goes into the address without loading the page anew. */
    remember: function (rows) {
      if (!rows || !rows.length || !rows[0].name) return api.no_update;
      const url = new URL(window.location.href);
      if (url.searchParams.get("execution") !== rows[0].name) {
        url.searchParams.set("execution", rows[0].name);
        url.searchParams.delete("x0");
        url.searchParams.delete("x1");
        window.history.replaceState(window.history.state, "", url);
      }
      followed = rows[0].name;
      return followed;
    },
    pick: function (name, back, on, selected) {
      const by = api.callback_context.triggered[0].prop_id;
      if (by.startsWith("step-")) {
        step(by.startsWith("step-on") ? 1 : -1);
        return api.no_update;
      }
      if (!name || name === followed || (selected && selected.length && selected[0].name === name)) return api.no_update;
      return { ids: [name] };
    },
    filter: function (text, options) {
      return Object.assign({}, options, { quickFilterText: text || "" });
    },
    order: function (clicks, rows) {
      const by = JSON.parse(api.callback_context.triggered[0].prop_id.split(".n_clicks")[0]).by;
      const compare = {
        file: (a, b) => a.place - b.place,
        name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
        seconds: (a, b) => b.seconds - a.seconds,
        runs: (a, b) => b.runs - a.runs,
      }[by];
      return rows.slice().sort(compare);
    },
    zoomOut: function () {
      zoomOut();
      return false;
    },
  };
})();
