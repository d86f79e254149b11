/* What is under the pointer on a timeline: the time, the phase, and every line of every lane with its unit.
   It is read off the figure itself, whose traces say in their meta what they are. */
(function () {
  "use strict";
  const dom = window.phasedock.dom;
  const format = window.phasedock.format;
  /** @type {{ graph: HTMLElement, card: HTMLElement, line: HTMLElement } | null} */
  let shown = null;

  /* The place of the sample nearest to a moment among ascending times. */
  function nearest(times, moment) {
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < moment) low = middle + 1;
      else high = middle;
    }
    return low > 0 && moment - times[low - 1] < times[low] - moment ? low - 1 : low;
  }
  function valueOf(trace, moment) {
    const times = trace.x, at = nearest(times, moment);
    const period = times.length > 1 ? (times[times.length - 1] - times[0]) / (times.length - 1) : 0;
    if (moment > times[times.length - 1] + period) return "–"; // another execution, which has ended by then
    const value = trace.y[at];
    if (!format.known(value)) return "–";
    const digits = Math.abs(value) < 0.1 && value !== 0 ? 3 : 2;
    const unit = trace.meta.unit;
    return format.number(value, digits) + (unit && unit !== "%" ? " " : "") + unit;
  }
  function phaseAt(data, moment) {
    const names = data.find((trace) => trace.meta && trace.meta.names);
    return names ? names.customdata.find((run) => moment >= run[0] && moment < run[1]) : undefined;
  }
  function row(label, value, kind) {
    const line = document.createElement("div");
    line.className = "hoverrow";
    const name = document.createElement("span");
    name.className = kind;
    name.textContent = label;
    const text = document.createElement("b");
    text.className = "num";
    text.textContent = value;
    line.append(name, text);
    return line;
  }
  function kindOf(trace) {
    return trace.meta.key === "Limit" ? "key limit" : trace.meta.key.endsWith(" allocation") ? "key alloc" : "key";
  }
  function fill(card, graph, moment) {
    const data = graph._fullData, meta = graph.layout.meta;
    const lines = data.filter((trace) => trace.meta && trace.meta.lane);
    const longest = lines.reduce((best, trace) => (best && best.x[best.x.length - 1] >= trace.x[trace.x.length - 1] ? best : trace), null);
    const times = longest ? longest.x : [];
    const at = times.length ? times[nearest(times, moment)] : moment;
    const head = document.createElement("div");
    head.className = "hoverhead";
    head.append(Object.assign(document.createElement("b"), { textContent: format.duration(at) }));
    if (format.known(meta.clock))
      head.append(Object.assign(document.createElement("span"), {
        className: "num", textContent: window.phasedock.figures.clockText(meta.clock + at, 1) + " UTC",
      }));
    const run = phaseAt(graph.data, at);
    if (run && run[3] >= -1) {
      const badge = document.createElement("span");
      badge.className = format.phaseClass(run[3]);
      badge.textContent = format.phaseName(run[3]);
      const told = meta.phases.find((phase) => phase[0] === run[3]);
      head.append(badge, Object.assign(document.createElement("span"), { textContent: told ? told[3] : "" }));
    } else if (run) head.append("not sampled");
    card.replaceChildren(head, ...lines.map((trace) => {
      const lane = trace.meta.lane, key = trace.meta.key;
      const kind = kindOf(trace);
      const label = key === "Used" ? lane : kind === "key limit" ? lane + " limit"
        : kind === "key alloc" ? lane + ", " + key : key;
      return row(label, valueOf(trace, at), kindOf(trace));
    }));
  }
  function hide() {
    if (!shown) return;
    shown.card.remove();
    shown.line.remove();
    shown = null;
  }
  function createTooltip(graph) {
    if (shown && shown.graph === graph && graph.contains(shown.card)) return shown;
    hide();
    const card = document.createElement("div"), line = document.createElement("div");
    card.className = "hovercard";
    line.className = "hoverline";
    [card, line].forEach((part) => part.setAttribute("aria-hidden", "true"));
    graph.append(line, card);
    shown = { graph, card, line };
    return shown;
  }
  function show(graph, clientX) {
    const lanes = Array.from(graph.querySelectorAll(".nsewdrag")).map((lane) => lane.getBoundingClientRect());
    const whole = graph.getBoundingClientRect(), range = graph.layout.xaxis.range;
    if (!lanes.length || !graph._fullData) return;
    const left = lanes[0].left, width = lanes[0].width;
    if (clientX < left || clientX > left + width) { hide(); return; }
    const part = createTooltip(graph), x = clientX - whole.left;
    fill(part.card, graph, range[0] + (clientX - left) / width * (range[1] - range[0]));
    const top = Math.min(...lanes.map((lane) => lane.top)) - whole.top;
    const foot = Math.max(...lanes.map((lane) => lane.bottom)) - whole.top;
    Object.assign(part.line.style, { left: x + "px", top: top + "px", height: foot - top + "px" });
    const wide = part.card.offsetWidth;
    const right = x + 12 + wide > whole.width;
    part.card.style.left = Math.max(0, right ? x - 12 - wide : x + 12) + "px";
    part.card.style.top = top + "px";
  }

  document.addEventListener("pointermove", function (event) {
    const graph = dom.closest(event, ".js-plotly-plot");
    const meta = graph && graph.layout && graph.layout.meta;
    if (!meta || !meta.phases || event.buttons) hide();
    else show(graph, event.clientX);
  }, { passive: true });
  document.addEventListener("pointerdown", function (event) {
    const graph = dom.closest(event, ".js-plotly-plot");
    const meta = graph && graph.layout && graph.layout.meta;
    if (meta && meta.phases && event.pointerType !== "mouse") show(graph, event.clientX);
    else hide();
  }, { passive: true });
  ["scroll", "keydown"].forEach((kind) => document.addEventListener(kind, hide, { passive: true, capture: true }));
})();
