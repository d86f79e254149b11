/* Renderers of table cells: phase strips, badges, bars, links. */
(function () {
  "use strict";
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || /** @type {AgGridFunctions} */ ({}));
  const h = React.createElement;

  const variable = (phase) => (phase < 0 ? "var(--p0)" : "var(--p" + ((phase % 8) + 1) + ")");

  /* A strip comes as [width in per mille, phase, width, phase, …]. */
  function gradient(strip) {
    const stops = [];
    let at = 0;
    for (let i = 0; i < strip.length; i += 2) {
      const end = at + strip[i] / 10;
      stops.push(variable(strip[i + 1]) + " " + at + "% " + end + "%");
      at = end;
    }
    return stops.length ? "linear-gradient(90deg," + stops.join(",") + ")" : "none";
  }

  cells.ExecutionCell = function (props) {
    const row = props.data;
    if (!row) return null;
    return h("div", { className: "execution" },
      h("div", { className: "row between" },
        h("span", { className: "truncate strong", title: row.name }, row.title),
        h("span", { className: "num ink2 small" }, row.length)),
      h("div", { className: "truncate ink3 small" }, row.note),
      h("div", { className: "strip", style: { background: gradient(row.strip) } }));
  };
  cells.StripCell = function (props) {
    return h("div", { className: "strip", style: { background: gradient(props.value || []), width: "100%" } });
  };
  cells.PhaseCell = function (props) {
    const phase = props.value;
    if (phase === null || phase === undefined) return null;
    const format = window.phasedock.format;
    return h("span", { className: format.phaseClass(phase) }, format.phaseName(phase));
  };
})();
