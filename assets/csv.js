/* Tables as CSV that no spreadsheet runs: the same rule for cells as the server's.
   tests/shared/csv_cells.json has the cases that both write alike. */
(function () {
  "use strict";
  /* All control characters but tab and the ends of lines: a terminal would obey them. */
  // deno-lint-ignore no-control-regex
  const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
  const FORMULA = /^[=+\-@\t\r＝＋－＠]/;
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?%?$/i;

  /** A text as a spreadsheet takes it: one that would begin a formula gets an apostrophe before it.
   * @param {string | number | null | undefined} value */
  function cell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = value.replace(CONTROL, "");
    return FORMULA.test(text) && !NUMBER.test(text) ? "'" + text : text;
  }
  /** @param {string} text */
  const quoted = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

  /** The whole file. @param {(string | number | null | undefined)[][]} rows */
  const file = (rows) => rows.map((row) => row.map((value) => quoted(cell(value))).join(",") + "\r\n").join("");

  window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({});
  window.phasedock.csv = { cell, file };
})();
