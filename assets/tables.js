/* What tables say and do: quantities with their units (the twin of core/units.py), and rows that open. */
(function () {
  "use strict";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});

  function number(value, digits) {
    const size = Math.abs(value), sign = value < 0 ? "−" : "";
    return sign + (size >= 100 ? Math.round(size).toLocaleString("en") : size.toFixed(digits === undefined ? 2 : digits));
  }
  function written(write) {
    return (value) => (value === null || value === undefined || !Number.isFinite(value) ? "–" : write(value));
  }
  function bytes(value) {
    const size = Math.abs(value);
    for (const [limit, label] of [[1024 ** 3, "GiB"], [1024 ** 2, "MiB"], [1024, "KiB"]]) {
      if (size >= limit) return number(value / limit) + " " + label;
    }
    return Math.round(value) + " B";
  }
  function duration(value) {
    if (Math.abs(value) < 10 && value !== Math.round(value)) return value.toFixed(1) + " s";
    const whole = Math.round(value), minutes = Math.floor(whole / 60), hours = Math.floor(minutes / 60);
    const two = (part) => String(part).padStart(2, "0");
    if (hours) return hours.toLocaleString("en") + " h " + two(minutes % 60) + " min";
    return minutes ? minutes + " min " + two(whole % 60) + " s" : whole + " s";
  }
  /* Another page of ours without loading the application anew, as Dash's own links do it. */
  function go(href) {
    window.history.pushState({}, "", href);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    window.scrollTo(0, 0);
  }
  /* On a phone a column that stays in place would take the room of all others. */
  function loosen(api) {
    const state = api.getColumnState().filter((column) => column.pinned);
    api.applyColumnState({ state: state.map((column) => ({ colId: column.colId, pinned: null, width: 160 })) });
  }
  const count = (value) => Math.round(value).toLocaleString("en");
  const clientside = (window.dash_clientside = window.dash_clientside || {});
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
      if (!table) return count(total);
      table.setGridOption("quickFilterText", text || "");
      return text ? count(table.getDisplayedRowCount()) + " of " + count(total) : count(total);
    },
  };
  functions.phasedockTable = {
    cores: written((value) => number(value) + " cores"),
    bytes: written(bytes),
    share: written((value) => (value * 100).toFixed(1) + "%"),
    seconds: written(duration),
    duration: written(duration),
    plain: written((value) => number(value)),
    count: written(count),
    /* A click on a row, or Enter in it, opens that execution; marking text in a cell does not. */
    open: function (params, href) {
      const event = params.event || {};
      if (event.type === "keydown" && event.key !== "Enter") return;
      if (event.type === "click" && String(window.getSelection()).length) return;
      if (!params.data) return;
      const target = href + (href.includes("?") ? "&" : "?") + "execution=" + encodeURIComponent(params.data.execution);
      if (event.ctrlKey || event.metaKey) window.open(target, "_blank");
      else go(target);
    },
  };
})();
