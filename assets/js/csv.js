/* Tables as CSV in which no spreadsheet runs formulas: the same rule for cells as the server's.
   tests/shared/csv_cells.json has the cases that both write alike. */
(function () {
  "use strict";
  /* Escape sequences (ECMA-48) go; a run of other control characters becomes a space: `core/plain_text.py`. */
  const SEQUENCES = new RegExp(
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]" +
      "|(?:\\x1b[\\]PX^_]|[\\x9d\\x90\\x98\\x9e\\x9f])[^\\x07\\x1b\\x9c]*(?:\\x07|\\x1b\\\\|\\x9c)" +
      "|\\x1b[ -/]*[0-~]",
    "g",
  );
  // deno-lint-ignore no-control-regex
  const CONTROLS = /(?:[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff])+/g;
  const FORMULA = /^\s*[=+\-@＝＋－＠]/;
  const NUMBER = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?%?$/;

  /** A text as a spreadsheet takes it: one that would begin a formula gets an apostrophe before it.
   * @param {string | number | null | undefined} value */
  function cell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = value.replace(SEQUENCES, "").replace(CONTROLS, " ");
    const formula = FORMULA.test(text) || value[0] === "\t" || value[0] === "\r";
    return formula && !NUMBER.test(text) ? "'" + text : text;
  }
  /** @param {string} text */
  const quoted = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

  /** The whole file. @param {(string | number | null | undefined)[][]} rows */
  const file = (rows) => rows.map((row) => row.map((value) => quoted(cell(value))).join(",") + "\r\n").join("");

  window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({});
  window.phasedock.csv = { cell, file };
})();
