/* Figures in the browser: follow the colour scheme, keep the time axis readable after a zoom.
   The server sends every figure in its light colours; this swaps them for their dark partners. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || {});
  const STEPS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800,
    3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2592000];

  function swap(value, partners) {
    if (typeof value === "string") return partners[value.toLowerCase()] || value;
    if (Array.isArray(value)) {
      return value.length && typeof value[0] === "number" ? value : value.map((v) => swap(v, partners));
    }
    if (value && typeof value === "object" && !ArrayBuffer.isView(value)) {
      const copy = {};
      for (const key in value) copy[key] = key === "bdata" ? value[key] : swap(value[key], partners);
      return copy;
    }
    return value;
  }

  function timeTicks(start, end, about) {
    const span = Math.max(end - start, 1e-9);
    const step = STEPS.find((s) => span / s <= about) || STEPS[STEPS.length - 1];
    const [unit, name] = step >= 3600 ? [3600, "h"] : step >= 60 ? [60, "min"] : [1, "s"];
    const values = [];
    for (let v = Math.ceil(start / step) * step; v <= end + 1e-9; v += step) values.push(v);
    return { values, texts: values.map((v) => (v === 0 ? "0" : +(v / unit).toPrecision(6) + " " + name)) };
  }

  function scheme() {
    return document.documentElement.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";
  }

  /* Phones have room for fewer ticks. */
  function fit(figure) {
    const axis = figure.layout && figure.layout.xaxis;
    if (axis && axis.tickvals && axis.range && window.innerWidth < 768) {
      const ticks = timeTicks(axis.range[0], axis.range[1], 4);
      axis.tickvals = ticks.values;
      axis.ticktext = ticks.texts;
    }
    return figure;
  }

  api.figures = {
    draw: function (figure, colours, partners) {
      if (!figure) return api.no_update;
      if (scheme() === "light") return fit(JSON.parse(JSON.stringify(figure)));
      const dark = swap(figure, partners);
      (dark.data || []).forEach((trace) => {
        if (trace.meta && trace.meta.opacity_dark) trace.opacity = trace.meta.opacity_dark;
      });
      return fit(dark);
    },
  };
  window.phasedock = window.phasedock || {};
  window.phasedock.timeTicks = timeTicks;
  window.phasedock.scheme = scheme;
})();
