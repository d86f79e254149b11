/* Figures as pictures, as they are shown, made in the browser: with a title, a legend and the page's font, which
   the page around a figure says while it is there. */
(function () {
  "use strict";
  const TITLE = 34, LEGEND = 30;
  /** @type {Promise<string> | null} */
  let font = null;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /* The page's font as part of a picture: a picture is drawn without the page around it. */
  const FONTS = [
    ["inter-latin-wght-normal.woff2", ""],
    ["inter-greek-wght-normal.woff2", "unicode-range:U+0370-03FF"],
  ];
  /** @param {string[]} font */
  async function fetchFontFace([file, range]) {
    const answer = await fetch(window.phasedock.dom.at("/assets/fonts/" + file));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return "@font-face{font-family:Inter;font-weight:100 900;src:url(data:font/woff2;base64," + btoa(text) +
      ") format('woff2');" + range + "}";
  }
  function fontFaces() {
    font = font || Promise.all(FONTS.map(fetchFontFace)).then((faces) => faces.join("")).catch(() => "");
    return font;
  }

  function key(name, line, marker) {
    return Object.assign({
      type: "scatter", x: [null], y: [null], name, showlegend: true, hoverinfo: "skip",
    }, line ? { mode: "lines", line } : { mode: "markers", marker });
  }
  /* What the lines are, each kind once, and which colour is which phase. */
  function legend(graph) {
    const kinds = new Map();
    graph.data.forEach((trace) => {
      const kind = trace.meta && trace.meta.key;
      // lines of several GPUs have their names in the picture already
      if (kind && /^Used$|^Limit$| allocation$/.test(kind) && !kinds.has(kind)) kinds.set(kind, trace.line);
    });
    const keys = Array.from(kinds, ([name, line]) => key(name, line));
    const names = graph.data.find((trace) => trace.meta && trace.meta.names);
    const band = (graph._fullData || []).find((trace) => trace.type === "heatmap");
    if (!names || !band) return keys;
    const there = new Set(names.customdata.map((run) => run[3]));
    const phases = graph.layout.meta.phases;
    phases.forEach(function (phase, at) {
      if (!there.has(phase[0])) return;
      const colour = band.colorscale[2 * (at + 1)][1];
      keys.push(key((phase[1] + " " + phase[3]).trim(), null, { symbol: "square", size: 10, color: colour }));
    });
    return keys;
  }
  function withTitle(graph, width, height) {
    const keys = legend(graph);
    const longest = Math.max(0, ...keys.map((each) => each.name.length));
    const entry = Math.min(width - 60, 60 + 6.2 * longest);
    const rows = keys.length ? Math.ceil(keys.length / Math.max(1, Math.floor((width - 60) / entry))) : 0;
    const card = graph.closest(".card"), chart = graph.closest(".chart");
    const layout = JSON.parse(JSON.stringify(graph.layout));
    const own = layout.meta && layout.meta.title;
    const margin = Object.assign({ l: 40, r: 14, t: 20, b: 26 }, layout.margin);
    const more = TITLE + rows * 20 + (rows ? LEGEND - 20 : 0);
    layout.title = {
      text: own || (chart && chart.getAttribute("aria-label")) || (card ? card.querySelector("h2").textContent : ""),
      x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 12 },
      font: { size: 14, color: css("--ink") },
    };
    layout.margin = Object.assign(margin, { t: margin.t + TITLE, b: margin.b + more - TITLE });
    layout.showlegend = keys.length > 0;
    layout.legend = {
      orientation: "h", x: 0, xanchor: "left", y: -(margin.b - (more - TITLE) + 6) / Math.max(1, height - margin.t - margin.b + more),
      yanchor: "top", font: { size: 11, color: css("--ink2") }, entrywidth: entry - 40, entrywidthmode: "pixels",
    };
    Object.assign(layout, { width, height: height + more, autosize: false, paper_bgcolor: css("--surface") });
    layout.font = Object.assign({}, layout.font, { family: "Inter, system-ui, sans-serif" });
    const data = graph.data.map((trace) => Object.assign({}, trace, { showlegend: false }));
    return { data: data.concat(keys), layout };
  }
  function save(href, name) {
    const link = Object.assign(document.createElement("a"), { href, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  }
  async function renderPicture(graph, kind, name) {
    const width = graph.clientWidth, height = graph.clientHeight;
    const made = withTitle(graph, width, height);
    const size = { width, height: made.layout.height };
    const [svg, faces] = await Promise.all([
      window.Plotly.toImage(made, Object.assign({ format: "svg", imageDataOnly: true }, size)), fontFaces(),
    ]);
    const whole = svg.replace(/(<svg[^>]*>)/, "$1<style>" + faces + "</style>");
    const address = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(whole);
    if (kind === "svg") { save(address, name + ".svg"); return; }
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * size.height });
    const brush = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    brush.fillStyle = css("--surface");
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(image, 0, 0, canvas.width, canvas.height);
    save(canvas.toDataURL("image/png"), name + ".png");
  }

  document.addEventListener("click", function (event) {
    const button = window.phasedock.dom.closest(event, "[data-export]");
    if (!button) return;
    const graph = Array.from(document.querySelectorAll(".js-plotly-plot")).find(function (plot) {
      const owner = plot.closest('[id*="graph"]');
      return owner && owner.id.includes('"name":"' + button.dataset.export + '"');
    });
    if (graph) renderPicture(graph, button.dataset.format, button.dataset.file.replace(/[^\w-]+/g, "-"));
  });

  /* A file of what is shown is asked for with the page's own address. */
  document.addEventListener("click", function (event) {
    const link = window.phasedock.dom.closest(event, "a[download]");
    const href = link && link.getAttribute("href");
    if (href && (/[?&]$/.test(href) || link.dataset.shown)) {
      link.dataset.shown = link.dataset.shown || href;
      link.setAttribute("href", link.dataset.shown + window.location.search.slice(1));
    }
  }, true);
})();
