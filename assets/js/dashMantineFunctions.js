/* How options of selects are drawn. */
(function () {
  "use strict";
  const functions = (window.dashMantineFunctions = window.dashMantineFunctions || /** @type {AgGridFunctions} */ ({}));
  const h = React.createElement;

  /* A title, and behind it in grey what commands and files call it. */
  functions.renderWithIdentifier = function ({ option }) {
    return h("span", { className: "row between identified" }, h("span", null, option.label), h("span", { className: "ink3 small mono" }, option.value));
  };
})();
