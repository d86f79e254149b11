/* Figures in the browser: follow the colour scheme, keep the time axis readable after a zoom.
   The server sends every figure in its light colours; this swaps them for their dark partners. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const pd = (window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({}));
  const STEPS = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800,
    3600, 7200, 10800, 21600, 43200, 86400, 172800, 345600, 604800, 1209600, 2592000];

  function swap(value, partners) {
    if (typeof value === "string") return partners[value.toLowerCase()] || value;
    if (Array.isArray(value)) {
      const numbers = typeof value[0] === "number" && typeof value[value.length - 1] === "number";
      return numbers ? value : value.map((v) => swap(v, partners));
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

  /* The ticks of a figure's time, with the time of day in UTC beneath where the figure says when it began. */
  function ticksOf(meta, range, phone) {
    const ticks = timeTicks(range[0], range[1], phone ? 4 : 8);
    if (!pd.format.known(meta.clock)) return ticks;
    const step = ticks.values.length > 1 ? ticks.values[1] - ticks.values[0] : 0;
    const texts = ticks.values.map((value, at) => ticks.texts[at] + "<br>" + clockText(meta.clock + value, step));
    return { values: ticks.values, texts };
  }
  function clockText(moment, step) {
    const date = new Date(Math.floor(moment) * 1000);
    const time = date.toISOString().slice(11, step >= 3600 ? 16 : 19);
    const day = () => date.toLocaleDateString("en-GB", { day: "2-digit", month: "short", timeZone: "UTC" });
    return (step >= 43200 ? day() + " " : "") + time;
  }

  function scheme() {
    return document.documentElement.getAttribute("data-mantine-color-scheme") === "dark" ? "dark" : "light";
  }

  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  /* The names of runs that have room for one in the visible time, in the middle of what is seen of each.
     A run is [begin, end, number, phase, colour, given name]; a given name needs more room. */
  function names(trace, range) {
    const phone = window.innerWidth < 768, wide = range[1] - range[0], room = (phone ? 0.08 : 0.03) * wide;
    const roomFor = (given) => Math.max(room, (phone ? 2.7 : 1) * (0.008 * given.length + 0.01) * wide);
    const seen = trace.customdata
      .map(function (run) {
        const low = Math.max(run[0], range[0]), high = Math.min(run[1], range[1]);
        return { low, high, name: run[5] && high - low > roomFor(run[5]) ? run[5] : run[2], colour: run[4] };
      })
      .filter((run) => run.name && run.high - run.low > room);
    return {
      x: seen.map((run) => (run.low + run.high) / 2),
      y: seen.map(() => 0.5),
      text: seen.map((run) => "<b>" + escaped(run.name) + "</b>"),
      textfont: Object.assign({}, trace.textfont, { color: seen.map((run) => run.colour) }),
    };
  }

  /* The zoom of the address, if it is of this figure's time. */
  function rangeFromAddress(meta) {
    const query = new URL(window.location.href).searchParams;
    const range = ["x0", "x1"].map((key) => parseFloat(query.get(key) || ""));
    return range.every(Number.isFinite) && range[1] > range[0] && range[0] < meta.full[1] ? range : null;
  }

  /* A figure that is drawn again keeps the zoom of the address. Phones have room for fewer ticks and names. */
  function fit(figure) {
    const layout = figure.layout || {};
    if (!layout.meta || !layout.meta.time_axis) return figure;
    const zoom = layout.meta.phases ? rangeFromAddress(layout.meta) : null;
    const phone = window.innerWidth < 768;
    if (!zoom && !phone) return figure;
    const range = zoom || layout.xaxis.range;
    const ticks = ticksOf(layout.meta, range, phone);
    Object.assign(layout.xaxis, { range, tickvals: ticks.values, ticktext: ticks.texts });
    figure.data.forEach((trace) => {
      if (trace.meta && trace.meta.names) Object.assign(trace, names(trace, range));
    });
    return figure;
  }

  /* A time axis (marked by its figure's meta) says "5 min 55 s" in its hover, gets new ticks after a
     zoom, and puts the zoom into the address, so that a colleague sees the same stretch.
     The listeners are kept with the plot's own: where it is made anew, they are gone, and set again. */
  function bind(graph) {
    if (!graph || !graph.on || !graph._ev || graph._ev.phasedock) return;
    graph._ev.phasedock = true;
    const isTime = () => graph.layout && graph.layout.meta && graph.layout.meta.time_axis;
    graph.on("plotly_hover", function (event) {
      if (!isTime() || !event.points.length) return;
      const title = graph.querySelector(".hoverlayer .legendtitletext");
      if (title) title.textContent = pd.format.duration(event.points[0].x);
    });
    graph.on("plotly_relayout", function (change) {
      if (!isTime()) return;
      const zoomed = change["xaxis.range[0]"] !== undefined;
      if (!zoomed && !change["xaxis.autorange"]) return;
      const full = graph.layout.meta.full;
      const range = zoomed ? [change["xaxis.range[0]"], change["xaxis.range[1]"]] : full;
      showRange(graph, [Math.max(range[0], full[0]), Math.min(range[1], full[1])]);
    });
  }
  /* Whoever zooms or reads a value comes with the pointer first, however late the plot was drawn. */
  ["pointerover", "pointerdown"].forEach((kind) =>
    document.addEventListener(kind, (event) => bind(pd.dom.closest(event, ".js-plotly-plot")), true)
  );
  /* The figure is handed to its component anew: what is changed in the plot alone, the component undoes when
     it draws itself again, which it does after every zoom. */
  function showRange(graph, range) {
    const meta = graph.layout.meta;
    const all = range[0] <= meta.full[0] && range[1] >= meta.full[1];
    const ticks = ticksOf(meta, range, window.innerWidth < 768);
    const xaxis = Object.assign({}, graph.layout.xaxis, {
      range, autorange: false, tickvals: ticks.values, ticktext: ticks.texts,
    });
    const data = graph.data.map((trace) =>
      trace.meta && trace.meta.names ? Object.assign({}, trace, names(trace, range)) : trace
    );
    const owner = graph.closest('[id*="graph"]');
    if (meta.thinned) api.set_props("zoom", { data: all ? null : range });
    else if (owner) api.set_props(JSON.parse(owner.id), { figure: { data, layout: Object.assign({}, graph.layout, { xaxis }) } });
    const url = new URL(window.location.href);
    if (all) { url.searchParams.delete("x0"); url.searchParams.delete("x1"); }
    else { url.searchParams.set("x0", range[0].toFixed(1)); url.searchParams.set("x1", range[1].toFixed(1)); }
    window.history.replaceState(window.history.state, "", url);
  }

  /* A figure with more or fewer lanes than the one before gets the room that it asks for. */
  function makeRoom(figure) {
    const layout = figure.layout || {};
    if (!layout.meta || !layout.meta.phases) return;
    const place = pd.dom.all(".timeline .dash-graph").find((each) => each.style.height);
    if (place && place.style.height !== layout.height + "px") place.style.height = layout.height + "px";
  }

  api.figures = {
    draw: function (figure, _colours, partners) {
      if (!figure) return api.no_update;
      makeRoom(figure);
      if (scheme() === "light") return fit(JSON.parse(JSON.stringify(figure)));
      const dark = swap(figure, partners);
      (dark.data || []).forEach((trace) => {
        if (trace.meta && trace.meta.opacity_dark) trace.opacity = trace.meta.opacity_dark;
      });
      return fit(dark);
    },
  };
  pd.figures = { timeTicks, clockText, showRange, scheme };
})();
