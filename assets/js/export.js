/* Figures as pictures, exactly as they are shown, made in the browser. */
document.addEventListener("click", function (event) {
  "use strict";
  const button = window.phasedock.dom.closest(event, "[data-export]");
  if (!button) return;
  const graph = Array.from(document.querySelectorAll(".js-plotly-plot")).find(function (plot) {
    const owner = plot.closest('[id*="graph"]');
    return owner && owner.id.includes('"name":"' + button.dataset.export + '"');
  });
  if (!graph) return;
  window.Plotly.downloadImage(graph, {
    format: button.dataset.format,
    filename: button.dataset.file.replace(/[^\w-]+/g, "-"),
    width: graph.clientWidth,
    height: graph.clientHeight,
    scale: button.dataset.format === "png" ? 2 : 1,
    setBackground: function () { return getComputedStyle(document.documentElement).getPropertyValue("--surface"); },
  });
});
