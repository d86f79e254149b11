/* The Sequences page in the browser: colours of the graph, clicks that ask for the executions behind
   something, and the address, which always says what is shown. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || /** @type {AgGridFunctions} */ ({}));
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || /** @type {AgGridFunctions} */ ({}));
  const h = React.createElement;
  /* The graph is never zoomed, yet Cytoscape warns of any sensitivity of the wheel, its own default included. */
  if (window.dash_cytoscape) delete window.dash_cytoscape.Cytoscape.defaultProps.wheelSensitivity;
  const DEFAULTS = { memory: "1", step: "run", hide: "0.10", ahead: "1" };

  /* Cells: paths as badges, states, and a count with its bar. */
  function badge(phase, key, context) {
    if (phase === -2) return h("span", { className: "state", key: key }, "end");
    const format = window.phasedock.format, name = context.names[phase];
    const number = h("span", { className: format.phaseClass(phase), key: key }, format.phaseName(phase));
    return name ? h("span", { className: "namedphase", key: key }, number, h("b", null, name)) : number;
  }
  function arrow(key) {
    return h("span", { className: "ink3", key: key }, "›");
  }
  cells.PathCell = function (props) {
    const row = props.data;
    if (!row) return null;
    const parts = [];
    row.elements.forEach(function (unit, i) {
      if (i) parts.push(arrow("a" + i));
      const badges = unit.map((phase, j) => badge(phase, i + "-" + j, props.context));
      if (unit.length === 1) parts.push(badges[0]);
      else parts.push(h("span", { className: "unit", key: "u" + i }, "(", badges, ")×n"));
    });
    if (!parts.length) parts.push(badge(-1, "w", props.context), h("span", { className: "ink3", key: "o" }, "only"));
    if (row.more) parts.push(h("span", { className: "ink3", key: "m" }, "… " + row.more + " more"));
    return h("div", { className: "states" }, parts);
  };
  cells.StateCell = function (props) {
    const state = Array.isArray(props.value) ? props.value : [props.value];
    return h("div", { className: "states" }, state.flatMap((phase, i) => (i ? [arrow("a" + i), badge(phase, i, props.context)] : [badge(phase, i, props.context)])));
  };
  cells.CountBarCell = function (props) {
    if (!props.data) return null;
    return h("div", { className: "countbar" },
      h("span", { className: "num" }, window.phasedock.format.count(props.value)),
      h("div", { className: "bar" }, h("i", { style: { width: 100 * props.data.width + "%" } })));
  };

  function setAddress(values) {
    const url = new URL(window.location.href);
    for (const key in values) {
      if (values[key] && values[key] !== DEFAULTS[key]) url.searchParams.set(key, values[key]);
      else url.searchParams.delete(key);
    }
    window.history.replaceState(window.history.state, "", url);
  }
  function pick(value) {
    if (!value) return;
    api.set_props("seq-pick", { data: value });
  }
  function startFrom(state) {
    if (state) api.set_props("seq-after", { data: state });
  }

  document.addEventListener("click", function (event) {
    const target = window.phasedock.dom.closest(event, ".sequences [data-pick], [data-after]");
    if (target && target.dataset.after) startFrom(target.dataset.after);
    else if (target) pick(target.dataset.pick);
    /* Files are of what is shown now: the link takes the page's choices along. */
    const link = window.phasedock.dom.closest(event, 'a[download][href*="/sequences/"]');
    if (link) {
      const url = new URL(link.href);
      url.search = window.location.search;
      ["traces", "model"].forEach((key) => url.searchParams.delete(key));
      if (!url.searchParams.get("after") && after) url.searchParams.set("after", after);
      link.href = url;
    }
  }, true);
  let after = null;

  functions.phasedockSequences = {
    row: function (params) {
      const event = params.event || {};
      if (event.type === "keydown" && event.key !== "Enter") return;
      if (params.data) pick(params.data.pick);
    },
  };

  function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }
  function styles() {
    const ink3 = variable("--ink3"), strong = variable("--line-strong"), surface = variable("--surface");
    const font = "Inter, system-ui, sans-serif";
    const sheet = /** @type {{ selector: string, style: object }[]} */ ([
      { selector: "node", style: {
        label: "data(label)", "text-valign": "center", "text-halign": "center", "font-family": font,
        "font-size": 13, "font-weight": 600, width: 46, height: 46, "background-color": variable("--p0"),
        color: variable("--on-p0"), "overlay-opacity": 0, "border-width": 0 } },
      { selector: "node.long", style: {
        shape: "round-rectangle", width: "data(width)", height: 26, "font-size": 12 } },
      { selector: "node.named", style: { shape: "round-rectangle", width: "data(width)", height: 30, "font-size": 12 } },
      { selector: "node.end", style: {
        width: 34, height: 34, "background-color": variable("--sunken"), color: variable("--ink2"),
        "border-width": 1, "border-color": strong, "font-size": 12 } },
      { selector: "node:selected", style: { "border-width": 3, "border-color": variable("--accent") } },
      { selector: "edge", style: {
        "curve-style": "bezier", "control-point-step-size": 46, width: "mapData(p, 0, 1, 1, 7)",
        "line-color": strong, "target-arrow-color": strong, "target-arrow-shape": "triangle", "arrow-scale": 0.8,
        label: "data(label)", "font-family": font, "font-size": 11, color: variable("--ink"),
        "text-background-color": surface, "text-background-opacity": 1, "text-background-padding": 1,
        "overlay-padding": 4, "overlay-opacity": 0 } },
      { selector: "edge.quiet", style: { label: "", width: "mapData(p, 0, 1, 0.6, 5)", "arrow-scale": 0.6 } },
      { selector: "edge.quiet:selected", style: { label: "data(label)" } },
      { selector: "edge.ending", style: { "line-style": "dashed", color: ink3, label: "" } },
      { selector: "edge.ending:selected", style: { label: "data(label)" } },
      { selector: "edge:selected", style: {
        "line-color": variable("--accent"), "target-arrow-color": variable("--accent") } },
    ]);
    for (let i = 0; i <= 8; i += 1) {
      sheet.push({ selector: "node.p" + i, style: { "background-color": variable("--p" + i), color: variable("--on-p" + i) } });
    }
    return sheet;
  }

  /* A graph of longer states is laid out in layers; its edges bend around the states between their ends. */
  function inLayers(cy) {
    const graph = new dagre.graphlib.Graph({ multigraph: true });
    graph.setGraph({ rankdir: "TB", nodesep: 16, edgesep: 12, ranksep: 34, acyclicer: "greedy" });
    cy.nodes().forEach((node) => { graph.setNode(node.id(), { width: node.width(), height: node.height() }); });
    cy.edges().forEach(function (edge) {
      if (edge.source().id() === edge.target().id()) return;
      graph.setEdge(edge.source().id(), edge.target().id(), { weight: 1 + Math.round(8 * edge.data("p")) }, edge.id());
    });
    dagre.layout(graph);
    cy.batch(function () {
      cy.nodes().forEach((node) => { const at = graph.node(node.id()); node.position({ x: at.x, y: at.y }); });
      graph.edges().forEach((key) => bend(cy.getElementById(key.name), graph.edge(key).points.slice(1, -1)));
    });
  }
  function bend(edge, points) {
    const from = edge.source().position(), to = edge.target().position();
    const x = to.x - from.x, y = to.y - from.y, length = Math.hypot(x, y) || 1;
    const along = points.map((p) => ((p.x - from.x) * x + (p.y - from.y) * y) / (length * length));
    const aside = points.map((p) => ((p.y - from.y) * x - (p.x - from.x) * y) / length);
    if (!points.length || aside.every((d) => Math.abs(d) < 2)) return;
    edge.style({ "curve-style": "unbundled-bezier", "edge-distances": "node-position",
      "control-point-weights": along.join(" "), "control-point-distances": aside.join(" ") });
  }
  function arrange() {
    const cy = graphApi();
    if (!cy) return;
    cy.resize();
    if (cy.nodes(".long").length) inLayers(cy);
    cy.fit(undefined, 22);
  }

  /* On a phone: what a path is, its example and its share; the rest is in the file. */
  function narrow(tries) {
    if (window.innerWidth > 767 || !tries) return;
    const ready = document.querySelector("#sequence-paths .ag-row") && window.dash_ag_grid;
    if (ready) window.dash_ag_grid.getApi("sequence-paths").setColumnsVisible(["median_s", "executions", "covered"], false);
    else setTimeout(narrow, 150, tries - 1);
  }

  /* Dash Cytoscape does not expose its graph; Cytoscape itself keeps it on its element. */
  function graphApi() {
    const box = /** @type {any} */ (document.getElementById("sequence-graph"));
    const cy = box && box._cyreg && box._cyreg.cy;
    if (cy && !fitted.has(cy)) {
      fitted.add(cy);
      cy.on("resize", () => { if (!cy.destroyed()) cy.fit(undefined, 22); });
    }
    return cy;
  }
  const fitted = new WeakSet();
  /* Cytoscape caches its position on the page; cards above it may have grown since. */
  ["pointerover", "pointerdown"].forEach((kind) => document.addEventListener(kind, function (event) {
    if (!window.phasedock.dom.closest(event, ".graphbox")) return;
    const cy = graphApi();
    if (cy) cy.resize();
  }, true));
  function save(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 2000);
  }
  /* The graph as SVG, from where Cytoscape has put nodes and edges. */
  function svgOf(cy) {
    const box = cy.elements().boundingBox({ includeLabels: true });
    const escape = (text) => String(text).replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" }[c]));
    const parts = [], labels = [];
    cy.edges().forEach(function (edge) {
      const from = edge.sourceEndpoint(), to = edge.targetEndpoint(), points = edge.controlPoints() || [];
      const path = "M" + from.x + " " + from.y + (points.length ? "" : " L" + to.x + " " + to.y) + points.map(function (p, i) {
        const next = points[i + 1];
        const end = next ? { x: (p.x + next.x) / 2, y: (p.y + next.y) / 2 } : to;
        return " Q" + p.x + " " + p.y + " " + end.x + " " + end.y;
      }).join("");
      const dashed = edge.hasClass("ending") ? ' stroke-dasharray="6 3"' : "";
      parts.push('<path d="' + path + '" fill="none" stroke="' + edge.style("line-color") + '" stroke-width="' +
        parseFloat(edge.style("width")) + '" marker-end="url(#arrow)"' + dashed + "/>");
      const mid = edge.midpoint();
      labels.push('<text x="' + mid.x + '" y="' + (mid.y + 4) + '" font-size="11" fill="' + edge.style("color") + '">' +
        escape(edge.data("label")) + "</text>");
    });
    cy.nodes().forEach(function (node) {
      const at = node.position();
      const w = node.width(), t = node.height(), round = node.hasClass("long") || node.hasClass("named") ? 4 : w / 2;
      parts.push('<rect x="' + (at.x - w / 2) + '" y="' + (at.y - t / 2) + '" width="' + w + '" height="' + t + '" rx="' + round +
        '" fill="' + node.style("background-color") + '"/>');
      labels.push('<text x="' + at.x + '" y="' + (at.y + 4) + '" font-weight="600" font-size="' + parseFloat(node.style("font-size")) +
        '" fill="' + node.style("color") + '">' + escape(node.data("label")) + "</text>");
    });
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="' + [box.x1 - 8, box.y1 - 8, box.w + 16, box.h + 16].join(" ") +
      '" width="' + (box.w + 16) + '" height="' + (box.h + 16) + '" font-family="Inter, sans-serif" text-anchor="middle">' +
      '<defs><marker id="arrow" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto" markerUnits="userSpaceOnUse">' +
      '<path d="M0 0 L8 4 L0 8 z" fill="' + variable("--line-strong") + '"/></marker></defs>' +
      '<rect x="' + (box.x1 - 8) + '" y="' + (box.y1 - 8) + '" width="100%" height="100%" fill="' + variable("--surface") + '"/>' +
      parts.join("") + labels.join("") + "</svg>";
  }

  api.sequences = {
    style: function () {
      narrow(60);
      [60, 300].forEach((wait) => setTimeout(arrange, wait));
      return styles();
    },
    tapped: function (node, edge) {
      const which = api.callback_context.triggered[0].prop_id.endsWith("tapNodeData") ? node : edge;
      if (which) {
        startFrom(which.after);
        pick(which.pick);
      }
      return api.no_update;
    },
    /* A node of the tree says itself what it stands for; a cell of the matrix by its row and column. */
    clicked: function (event, figure) {
      const point = event && event.points && event.points[0];
      const picks = figure && figure.layout.meta && figure.layout.meta.picks;
      if (point && picks) pick((picks[point.y] || [])[point.x]);
      else if (point && point.customdata) pick(point.customdata[0]);
      return api.no_update;
    },
    remember: function (memory, step, hide, ahead, from, picked) {
      after = from;
      setAddress({ memory: memory, step: step, hide: hide, ahead: ahead, after: from, pick: picked });
      return api.no_update;
    },
    closed: function (opened, picked) {
      return opened || !picked ? api.no_update : null;
    },
    asTable: function (clicks) {
      const table = clicks % 2 === 1;
      if (!table) setTimeout(function () {
        const cy = graphApi();
        if (cy) { cy.resize(); cy.fit(undefined, 22); }
      }, 30);
      return [table, !table, String(table)];
    },
    picture: function () {
      const cy = graphApi();
      if (!cy) return api.no_update;
      if (api.callback_context.triggered[0].prop_id.startsWith("seq-svg")) {
        save(new Blob([svgOf(cy)], { type: "image/svg+xml" }), "transition-graph.svg");
      } else {
        save(cy.png({ output: "blob", scale: 2, full: true, bg: variable("--surface") }), "transition-graph.png");
      }
      return api.no_update;
    },
  };
})();
