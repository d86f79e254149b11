/* What tables say and do: quantities with their units (format.js), and rows that open. */
(function () {
  "use strict";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || /** @type {AgGridFunctions} */ ({}));
  const format = window.phasedock.format;

  /* Opens another page of ours without reloading the application, as Dash's own links do. */
  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new PopStateEvent("popstate")); // as the browser's back button does; Dash follows
    window.scrollTo(0, 0);
  }
  /* On a phone a column that stays in place would take the room of all others. */
  function loosen(api) {
    const state = api.getColumnState().filter((column) => column.pinned);
    api.applyColumnState({ state: state.map((column) => ({ colId: column.colId, pinned: null, width: 160 })) });
  }
  const clientside = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  clientside.tables = {
    /* Rows from columns: {name: [values]} becomes one object per row. */
    rows: function (columns, grid) {
      const names = Object.keys(columns || {});
      if (!names.length) return [];
      if (window.innerWidth < 768) window.dash_ag_grid.getApiAsync(grid).then(loosen);
      return columns[names[0]].map(function (_, i) {
        const row = {};
        for (const name of names) row[name] = columns[name][i];
        return row;
      });
    },
    /* Rows that hold the text anywhere; the server is not asked. Says how many there are. */
    filter: function (text, rows, grid) {
      const total = (rows || []).length;
      const table = document.getElementById(grid) && window.dash_ag_grid.getApi(grid);
      if (!table) return format.count(total);
      table.setGridOption("quickFilterText", text || "");
      return text ? format.count(table.getDisplayedRowCount()) + " of " + format.count(total) : format.count(total);
    },
  };
  functions.phasedockTable = {
    ...format,
    seconds: format.duration,
    plain: format.number,
    leave: () => false,
    /* From the header Tab goes to the first row. */
    enter: function (params) {
      if (params.backwards || !params.api.getDisplayedRowCount()) return false;
      setTimeout(() => params.api.setFocusedCell(0, params.api.getAllDisplayedColumns()[0]));
      return true;
    },
    /* A click on a row, or Enter in it, opens that execution; selecting text in a cell does not. */
    open: function (params, href) {
      const event = params.event || {};
      if (event.type === "keydown" && event.key !== "Enter") return;
      if (event.type === "click" && String(window.getSelection()).length) return;
      if (!params.data) return;
      const target = window.phasedock.dom.at(href) + (href.includes("?") ? "&" : "?") + "execution=" + encodeURIComponent(params.data.execution);
      if (event.ctrlKey || event.metaKey) window.open(target, "_blank");
      else go(target);
    },
  };
})();
