/* The table of running containers, its cells, its cards on a phone, and its file. */
(function () {
  "use strict";
  const { live, format, csv, dom } = window.phasedock, known = format.known;
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || /** @type {AgGridFunctions} */ ({}));
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || /** @type {AgGridFunctions} */ ({}));
  const h = React.createElement;
  const GRID = "live-grid", ROW = 33, HEAD = 34, MOST = 14, NEAR = 0.9, FAR = 4;
  const narrow = () => window.innerWidth < 768;


  /* Use and limit in one unit, as words; what is at the limit of its memory is worth a colour. */
  function usageBeside(use, limit, memory) {
    const [size, unit] = memory ? format.bytesUnit(Math.max(use || 0, limit || 0)) : [1, "cores"];
    return {
      use: known(use) ? format.number(use / size) : "–",
      rest: known(limit) ? " / " + format.number(limit / size) + " " + unit : " " + unit,
      near: Boolean(memory && known(use) && known(limit) && use >= NEAR * limit),
    };
  }
  live.usageBeside = usageBeside;
  live.listBadge = (row) => ["listbadge " + row.weight, row.list, row.letters === row.list ? "" : row.letters + " in the paper"];

  function widths(use, limit, scale) {
    const share = (value) => Math.min(100, (100 * value) / scale).toFixed(1) + "%";
    const far = known(limit) && limit > scale;
    return { use: known(use) ? share(use) : "0", limit: known(limit) && !far ? share(limit) : null, far };
  }
  cells.LiveBarCell = function (props) {
    if (!props.value) return null;
    if (!props.data.running) return h("span", { className: "ink3" }, "–");
    const [use, limit, scale, memory] = props.value, words = usageBeside(use, limit, memory), at = widths(use, limit, scale);
    const title = words.near ? format.share(use / limit, 0) + " of its limit" : known(limit) ? undefined : "no limit";
    return h("div", { className: "usecell", title },
      h("div", { className: "usebar" + (words.near ? " near" : "") },
        h("i", { style: { width: at.use } }), at.limit ? h("b", { style: { left: at.limit } }) : null, at.far ? h("s", null, "→") : null),
      h("span", { className: "num" }, words.use, h("span", { className: "ink3" }, words.rest)));
  };
  cells.LiveNameCell = function (props) {
    const row = props.data, [head, tail] = live.cut(row.name);
    return h("span", { className: "livename" },
      h("span", { className: "midcut strong", title: row.name, "aria-hidden": true }, h("span", null, head), h("span", null, tail)),
      h("span", { className: "sr" }, row.name),
      row.state !== "running" && !row.trouble ? h("span", { className: "state" }, row.state) : null,
      row.wrong ? h("span", { className: "state warn", title: row.wrong }, "label") : null,
      row.unreadable ? h("span", { className: "state warn", title: row.unreadable }, "unreadable") : null,
      row.picked ? h("span", { className: "state", title: "Selected by hand; it does not carry the label" }, "selected") : null);
  };
  cells.LiveListCell = function (props) {
    if (!props.value) return h("span", { className: "ink3" }, "–");
    const [className, word, title] = live.listBadge(props.data);
    return h("span", { className, title }, word);
  };
  cells.LivePhaseCell = (props) => (known(props.value) ? h("span", { className: format.phaseClass(props.value) }, format.phaseName(props.value, live.page.names)) : h("span", { className: "ink3" }, "–"));
  cells.LiveStateCell = function (props) {
    if (!props.value) return h("span", { className: "ink3" }, props.data.state === "running" ? "running" : "–");
    const [kind, word, details] = props.value;
    return h("span", { className: "livestate", title: details }, h("span", { className: "state " + kind }, word), h("span", { className: "small ink2 truncate" }, details));
  };
  cells.LiveLineCell = (props) => h("svg", { className: "sparkline", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("path", { d: props.value || "" }));
  cells.LiveTextCell = (props) => h("span", { className: props.value ? "num" : "ink3" }, props.value || "–");
  cells.LiveLossCell = function (props) {
    const row = props.data;
    return h("span", { className: known(props.value) ? "num" : "ink3", title: row.why || undefined }, format.significant(props.value));
  };
  cells.LiveActsCell = function (props) {
    const row = props.data;
    const button = (act, icon, title) => h("button", {
      type: "button", className: "iconbtn", title: title + " " + row.name, "aria-label": title + " " + row.name, key: act,
      "data-act": act, "data-id": row.id, "data-store": "live-act",
    }, h("span", { className: "icon sm i-" + icon, "aria-hidden": "true" }));
    return h("span", { className: "rowacts" },
      row.acts ? button("undo", "arrow-back-up", "Restore the limits of") : null,
      button("one", "dots-vertical", "Inspect or change"));
  };

  const compareBy = (name) => (_a, _b, first, second) => {
    const [one, two] = [first.data[name], second.data[name]];
    if (known(one) !== known(two)) return known(one) ? 1 : -1;
    return known(one) && one !== two ? one - two : first.data.name < second.data.name ? 1 : -1;
  };
  functions.phasedockLive = {
    nothing: () => "",
    stateText: (params) => (params.data.trouble || [params.data.state]).join(" "),
    span: () => (live.page ? live.span() / 60 + " min" : ""),
    byCpu: compareBy("steady"),
    byMemory: compareBy("memoryNow"),
    byLoss: compareBy("loss"),
    byUptime: compareBy("since"),
    byNetwork: compareBy("networkNow"),
    byIo: compareBy("ioNow"),
    key: function (params) {
      if (params.event.key !== "Enter" || !params.data || params.event.target.closest("button")) return;
      window.dash_clientside.set_props("live-act", { data: { act: "one", id: params.data.id, at: Date.now() } });
    },
  };

  function scales(rows) {
    /* Limits far above all use do not count: they are arrows at the edge. */
    const top = function (use, limit) {
      const running = rows.filter((row) => row.running), most = Math.max(0, ...running.map((row) => row[use] || 0));
      return Math.max(most, ...running.map((row) => row[limit] || 0).filter((value) => !most || value <= FAR * most));
    };
    const cpu = top("cpu", "cpu_limit"), memory = top("memory", "memory_limit");
    return { cpu: Math.ceil(cpu * 4) / 4 || 1, memory: 2 ** (Math.ceil(Math.log2(memory || 1) * 4) / 4) };
  }
  const same = (one, two) => Boolean(one) && Boolean(two) && one.every((value, i) => value === two[i]);
  const reuseUnchanged = (before, now) => (same(before, now) ? before : now);
  const rounded = (value, step) => (known(value) ? Math.round(value / step) * step : null);

  /* The columns that can be chosen: values to sort by, and texts. */
  function further(row) {
    const since = row.running && row.started ? Math.max(0, live.now() - row.started) : null;
    return {
      since, networkNow: row.network, ioNow: row.io, uptime: since === null ? "" : roughly(since),
      network: known(row.network) ? format.rate(row.network) : "", io: known(row.io) ? format.rate(row.io) : "",
    };
  }
  function chosen() {
    return (live.page.node.dataset.columns || "").split(",").filter(Boolean);
  }
  document.addEventListener("click", function (event) {
    const button = live.page && dom.closest(event, "[data-column]");
    if (!button) return;
    const all = new Set(chosen()), name = button.dataset.column;
    if (all.has(name)) all.delete(name); else all.add(name);
    live.page.node.dataset.columns = [...all].join(",");
    live.write({ columns: live.page.node.dataset.columns || null });
    live.table.draw(live.page, false);
  });

  /* A duration in its largest unit. */
  function roughly(seconds) {
    const [size, unit] = seconds < 60 ? [1, "s"] : seconds < 3600 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "days"];
    const count = Math.floor(seconds / size);
    return (size === 1 ? Math.floor(count / 5) * 5 : count) + " " + unit;
  }

  /* A container's last end with how long ago that was. */
  function withAge(row) {
    if (!row.trouble) return null;
    const [kind, word, details] = row.trouble, ago = row.ended ? Math.max(0, live.now() - row.ended) : null;
    return [kind, word, [details, ago === null ? "" : roughly(ago) + " ago"].filter(Boolean).join(", ")];
  }

  /* What the table holds of a row. What looks the same stays the same object, and its cell is not drawn again. */
  function buildDisplayRow(row, scale, before, lines) {
    const was = before || {};
    return {
      id: row.id, name: row.name, image: row.image, list: row.list, letters: row.letters, weight: row.weight, phase: row.phase, state: row.state,
      running: row.running, trouble: reuseUnchanged(was.trouble, withAge(row)),
      picked: row.picked, wrong: row.wrong, unreadable: row.unreadable, held: row.held, why: row.why, acts: row.held && !live.page.steered ? 1 : 0, steady: row.steady,
      memoryNow: row.memory, loss: row.loss, source: row, ...further(row),
      cpu: reuseUnchanged(was.cpu, [rounded(row.cpu, 0.005), row.cpu_limit, scale.cpu, false]),
      memory: reuseUnchanged(was.memory, [rounded(row.memory, 262144), row.memory_limit, scale.memory, true]),
      cpuLine: lines || !before ? live.sparkline(row.lines.cpu, 0) : was.cpuLine,
      lossLine: lines || !before ? live.sparkline(row.lines.loss, null) : was.lossLine,
    };
  }
  function grid() {
    return document.getElementById(GRID) && window.dash_ag_grid && window.dash_ag_grid.getApi(GRID);
  }
  live.table = {
    begin: function () { live.table.rows = new Map(); live.table.spark = 0; live.table.columns = ""; live.table.drawnSpan = 0; live.table.filled = false; },
    draw: function (page, settle) {
      const bucket = Math.floor((page.at || 0) / 5), lines = bucket !== live.table.spark || live.span() !== live.table.drawnSpan;
      live.table.spark = bucket;
      const scale = scales(page.rows), before = live.table.rows;
      const rows = page.rows.map((row) => buildDisplayRow(row, scale, before.get(row.id), lines));
      live.table.rows = new Map(rows.map((row) => [row.id, row]));
      if (narrow()) cards(rows, settle);
      else table(rows, settle);
      showFilterCount();
    },
    filter: function (text) {
      const table = grid();
      if (table) table.setGridOption("quickFilterText", text);
      if (narrow()) cards([...live.table.rows.values()], false);
      showFilterCount();
    },
    csv: save,
  };
  function filterText() {
    const field = document.getElementById("live-filter");
    return field instanceof HTMLInputElement ? field.value : "";
  }
  function matches(row) {
    const wanted = filterText().toLowerCase();
    return [row.name, row.list, ...(row.trouble || []), known(row.phase) ? format.phaseName(row.phase, live.page.names) : ""].join(" ").toLowerCase().includes(wanted);
  }
  function showFilterCount() {
    const total = live.table.rows.size;
    const shown = filterText() ? [...live.table.rows.values()].filter(matches).length : total;
    dom.element("live-count").textContent = shown === total ? "" : shown + " of " + total;
  }
  function table(rows, settle) {
    const table = grid();
    if (!table) { live.table.rows = new Map(); setTimeout(() => live.page && live.page.drawn && live.page.node.isConnected && live.table.draw(live.page, true), 250); return; }
    if (!live.table.filled) {
      if (filterText()) table.setGridOption("quickFilterText", filterText());
      live.table.filled = true;
    }
    columns(table, rows);
    const here = new Set(rows.map((row) => row.id));
    const there = new Set();
    table.forEachNode((node) => there.add(node.id));
    table.applyTransaction({
      update: rows.filter((row) => there.has(row.id)),
      add: rows.filter((row) => !there.has(row.id)),
      remove: [...there].filter((id) => !here.has(id)).map((id) => ({ id })),
    });
    if (settle && !document.querySelector("#live-grid:hover")) table.refreshClientSideRowModel("sort");
    if (live.span() !== live.table.drawnSpan) { live.table.drawnSpan = live.span(); table.refreshHeader(); }
    const height = HEAD + 2 + ROW * Math.max(3, Math.min(rows.length, MOST)) + "px";
    const element = dom.element(GRID);
    if (element.style.height !== height) element.style.height = height;
  }

  /* Hides empty columns: lists without a policy, phases without a model, losses where none is read. */
  function columns(table, rows) {
    const some = (name) => rows.some((row) => known(row[name]) || typeof row[name] === "string");
    const shown = { trouble: rows.some((row) => row.trouble), list: some("list"), phase: some("phase"), loss: some("loss"), lossLine: some("loss") && !rows.some((row) => row.trouble) };
    for (const name of ["uptime", "network", "io"]) shown[name] = chosen().includes(name);
    dom.all("[data-column]").forEach((button) => button.setAttribute("aria-pressed", String(chosen().includes(button.dataset.column))));
    const key = JSON.stringify(shown);
    if (live.table.columns === key) return;
    live.table.columns = key;
    for (const name in shown) table.setColumnsVisible([name], shown[name]);
    if (Object.keys(live.page.names).length) table.setColumnWidths([{ key: "phase", newWidth: 132 }]);
  }

  /* On a phone every container is a card: name, badges, and two bars. */
  function cards(rows, settle) {
    const holder = dom.element("live-cards");
    const had = new Map(dom.children(holder).map((node) => [node.dataset.id, node]));
    const wanted = rows.filter(matches);
    for (const row of wanted) {
      const node = had.get(row.id) || card(row);
      if (!node.parentNode) { holder.append(node); settle = true; }
      had.delete(row.id);
      fill(node, row);
    }
    had.forEach((node) => node.remove());
    if (!settle) return;
    wanted.sort((a, b) => (b.steady || 0) - (a.steady || 0)).forEach((row, i) => {
      const node = dom.find(holder, '[data-id="' + CSS.escape(row.id) + '"]');
      if (holder.children[i] !== node) holder.insertBefore(node, holder.children[i]);
    });
  }
  function card(row) {
    const node = document.createElement("article");
    node.className = "livecard";
    node.dataset.id = row.id;
    node.innerHTML = '<header><h3></h3><span class="badges"></span><button type="button" class="iconbtn" data-act="one" data-store="live-act">' +
      '<span class="icon i-dots-vertical" aria-hidden="true"></span></button></header><p class="trouble small ink2" hidden></p>' +
      ["CPU", "Memory"].map((name) => '<div class="useline"><span class="ink3">' + name + '</span><div class="usebar"><i></i><b></b><s hidden>→</s></div><span class="num"><span></span><span class="ink3"></span></span></div>').join("");
    live.call(node.querySelector("h3"), row.name);
    const button = dom.find(node, "button");
    button.dataset.id = row.id;
    button.setAttribute("aria-label", "Inspect or change " + row.name);
    return node;
  }
  function fill(node, row) {
    const badges = [];
    if (row.list) badges.push(live.listBadge(row));
    if (known(row.phase)) badges.push([format.phaseClass(row.phase), format.phaseName(row.phase, live.page.names)]);
    if (row.held) badges.push(["state accent", "changed"]);
    if (row.trouble) badges.push(["state " + row.trouble[0], row.trouble[1]]);
    else if (row.state !== "running") badges.push(["state", row.state]);
    const details = node.querySelector(".trouble");
    details.textContent = row.trouble ? row.trouble[2] : "";
    details.hidden = !row.trouble;
    live.badges(node.querySelector(".badges"), badges);
    [row.cpu, row.memory].forEach(function ([use, limit, scale, memory], i) {
      const line = node.querySelectorAll(".useline")[i];
      line.hidden = !row.running;
      const words = usageBeside(use, limit, memory), at = widths(use, limit, scale);
      const [bar, text] = [line.querySelector(".usebar"), line.querySelector(".num")];
      bar.classList.toggle("near", words.near);
      const [use_, tick, arrow] = bar.children;
      use_.style.width = at.use;
      tick.hidden = at.limit === null;
      tick.style.left = at.limit || "0";
      arrow.hidden = !at.far;
      text.firstChild.textContent = words.use;
      text.lastChild.textContent = words.rest;
    });
  }
  live.badges = function (holder, badges) {
    const key = JSON.stringify(badges);
    if (holder.dataset.key === key) return;
    holder.dataset.key = key;
    holder.replaceChildren(...badges.map(([kind, word, title]) => Object.assign(document.createElement("span"), { className: kind, textContent: word, title: title || "" })));
  };

  /* The table as it is shown: filtered and in its order. */
  function save() {
    const head = ["container", "image", "state", "list", "phase", "cpu_cores", "cpu_limit_cores", "memory_bytes",
      "memory_limit_bytes", "throttled_share", "loss", "growth", "io_bytes_per_s", "network_bytes_per_s"];
    const rows = [], table = !narrow() && grid();
    if (table) table.forEachNodeAfterFilterAndSort((node) => rows.push(node.data.source));
    else [...live.table.rows.values()].filter(matches).forEach((row) => rows.push(row.source));
    const lines = rows.map((row) => [row.name, row.image, row.state, row.letters, known(row.phase) ? format.phaseName(row.phase, live.page.names) : null,
      row.cpu, row.cpu_limit, row.memory, row.memory_limit, row.throttled, row.loss, row.growth, row.io, row.network]);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv.file([head, ...lines])], { type: "text/csv" }));
    link.download = "containers-" + live.page.engine.replace(/[^\w-]+/g, "-") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
})();
