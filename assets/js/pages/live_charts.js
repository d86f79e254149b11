/* Sparklines, key figures and small charts of running containers, as plain SVG: a tick with fifty containers costs little. */
(function () {
  "use strict";
  const { live, format, dom } = window.phasedock, known = format.known;
  const h = (name, kind, text) => Object.assign(document.createElement(name), { className: kind || "", textContent: text || "" });
  const SIX = 6, CHOOSE = 30, TALL = 4;
  const HOLES = 3; // buckets without a limit until it is taken as gone

  /* A line in a box of w × h, from `from` on; a gap where there is no value. */
  function path(line, last, buckets, low, high, width, height, steps) {
    if (!line) return "";
    const parts = [], room = high - low || 1;
    const to = (value) => height - ((Math.min(value, high) - low) / room) * height;
    let pen = false, y = 0, holes = 0, end = width;
    for (let i = 0; i < line.values.length; i++) {
      const x = ((line.first + i - (last - buckets)) / buckets) * width, value = line.values[i];
      if (!known(value)) {
        holes += 1;
        if (pen && (!steps || holes === HOLES)) { if (steps) parts.push("H" + end.toFixed(1)); pen = false; }
        continue;
      }
      holes = 0;
      end = x;
      if (x < 0) { y = to(value); continue; }
      const at = to(value);
      if (!pen) parts.push("M" + x.toFixed(1) + " " + at.toFixed(1));
      else if (steps) { if (at !== y) parts.push("H" + x.toFixed(1) + "V" + at.toFixed(1)); }
      else parts.push("L" + x.toFixed(1) + " " + at.toFixed(1));
      pen = true;
      y = at;
    }
    if (steps && pen) parts.push("H" + width);
    return parts.join("");
  }
  const lastBucket = (width) => Math.floor(live.page.at / width);
  const bounds = (line, from) => {
    let low = Infinity, high = -Infinity;
    if (line) for (let i = Math.max(0, from - line.first); i < line.values.length; i++) {
      const value = line.values[i];
      if (!known(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low <= high ? [low, high] : null;
  };
  live.sparkline = function (line, floor) {
    if (!line || !live.page.at) return "";
    const buckets = live.span() / line.width, last = lastBucket(line.width), reach = bounds(line, last - buckets);
    if (!reach) return "";
    const low = floor === null ? reach[0] : floor, high = reach[1];
    const room = high - low || Math.abs(high) || 1;
    return path(line, last, buckets, low - 0.06 * room, high + 0.06 * room, 100, 24);
  };

  /* Key figures. */
  function say(name, text) {
    const element = live.page.node.querySelector('[data-kpi="' + name + '"]');
    if (element && element.textContent !== text) element.textContent = text;
  }
  function kpiLine(name, line) {
    const holder = live.page.node.querySelector('[data-kpi="' + name + '-line"]');
    if (!holder || !holder.offsetParent) return;
    if (!holder.firstChild) holder.innerHTML = '<svg viewBox="0 0 120 40" preserveAspectRatio="none"><path class="area"></path><path class="line"></path></svg>';
    const buckets = live.span() / 5, last = Math.floor((live.page.at || 0) / 5), reach = bounds(line, last - buckets);
    const d = reach ? path(line, last, buckets, 0, reach[1] * 1.12 || 1, 120, 40, name === "containers") : "";
    const [area, stroke] = holder.firstChild.children;
    stroke.setAttribute("d", d);
    area.setAttribute("d", d ? closed(d, 40) : "");
  }
  /* The same line closed down to the axis, piece by piece, as an area. */
  function closed(d, floor) {
    return d.split("M").filter(Boolean).map(function (piece) {
      const ends = piece.match(/-?\d+\.?\d*/g), start = ends[0];
      const commands = piece.match(/[LHV][^LHV]*/g) || [];
      let x = start;
      for (const command of commands) if (command[0] !== "V") x = command.slice(1).trim().split(" ")[0];
      return "M" + piece + "L" + x + " " + floor + "L" + start + " " + floor + "Z";
    }).join("");
  }
  live.totals = {
    draw: function (page) {
      const own = page.totals, lead = dom.element("live-lead");
      const all = own.containers + own.others, picked = page.rows.filter((row) => row.picked).length;
      const called = page.node.dataset.called;
      lead.textContent = page.at === null ? called
        : called + ", " + format.count(own.containers - picked) + " of " + format.count(all) + (all === 1 ? " container carries" : " containers carry") + " the PhaseDock label" + (picked ? ", " + picked + " picked by hand" : "");
      const [size, unit] = format.bytesUnit(own.memory_total || own.memory || 0);
      say("cpu-value", known(own.cpu) ? format.number(own.cpu, own.cpu < 10 ? 2 : 1) : "–");
      say("cpu-unit", (known(own.cores) ? "of " + format.short(own.cores) + " cores" : "cores")
        + (known(own.pressure) ? ", " + format.number(100 * own.pressure, 0) + "% short" : ""));
      say("memory-value", known(own.memory) ? format.number(own.memory / size, own.memory / size < 10 ? 2 : 1) : "–");
      say("memory-unit", known(own.memory_total) ? "of " + format.number(own.memory_total / size, 1) + " " + unit : unit);
      say("throttled-value", known(own.throttled) ? format.number(100 * own.throttled, 1) : "–");
      say("throttled-unit", known(own.throttled) ? "% of periods" : "no CPU limit is set");
      say("containers-value", format.count(own.containers));
      say("containers-unit", own.labels.map(([label, n]) => n + " " + label).join(", "));
      kpiLine("cpu", page.together.cpu);
      kpiLine("memory", page.together.memory);
      kpiLine("throttled", page.together.throttled);
      const at = [...page.counts.keys()].sort((a, b) => a - b);
      const values = [];
      if (at.length) for (let i = at[0]; i <= at[at.length - 1]; i++) values.push(page.counts.has(i) ? page.counts.get(i) : values[values.length - 1]);
      kpiLine("containers", { first: at[0] || 0, width: 5, values });
    },
  };

  /* Small charts. */
  function ticks(top) {
    const raw = top / 2.2, power = 10 ** Math.floor(Math.log10(raw || 1));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) || power;
    const made = [];
    for (let v = 0; v <= top * 1.0001; v += step) made.push(+v.toPrecision(6));
    return made;
  }
  function plot(kind) {
    const node = h("div", "plot " + kind);
    node.innerHTML = '<div class="plothead"><span class="what"></span><span class="said num"></span></div><div class="plotbox">' +
      '<svg viewBox="0 0 300 100" preserveAspectRatio="none" aria-hidden="true"><g class="gridlines"></g><path class="area"></path><path class="used"></path><path class="limit"></path></svg>' +
      '<div class="ylabels"></div><i class="cross" hidden></i></div>';
    return node;
  }
  function make(row) {
    const node = h("article", "smallone");
    node.dataset.id = row.id;
    node.innerHTML = '<header><button type="button" class="plainname" data-act="one" data-store="live-act"></button><span class="badges"></span></header>';
    const button = node.querySelector("button");
    live.call(button, row.name);
    button.dataset.id = row.id;
    button.title = "Inspect or change " + row.name;
    node.append(plot("use"), plot("loss"), h("div", "xlabel num"));
    if (watcher) watcher.observe(node);
    return node;
  }
  function axis(box, top, low, write) {
    const values = low === 0 ? ticks(top) : [low, top], room = top - low || 1;
    const key = values.join() + "|" + top;
    const labels = box.querySelector(".ylabels");
    if (labels.dataset.key === key) return;
    labels.dataset.key = key;
    const y = (v) => 100 - (100 * (v - low)) / room;
    box.querySelector(".gridlines").innerHTML = values.map((v) => '<path d="M0 ' + y(v) + 'H300"></path>').join("");
    labels.replaceChildren(...values.map((v) => Object.assign(h("span", "num", write(v)), { style: "top:" + y(v) + "%" })));
  }
  function drawUse(node, row, lines, measure) {
    const limitName = measure + "_limit", used = lines[measure], limit = lines[limitName];
    const width = used ? used.width : 2, buckets = live.span() / width, last = lastBucket(width);
    const reach = bounds(used, last - buckets), most = reach ? reach[1] : 0;
    const near = limit && most ? Object.assign({}, limit, { values: limit.values.map((v) => (known(v) && v <= TALL * most ? v : null)) }) : limit;
    const cap = bounds(near, last - buckets), top = (Math.max(most, cap ? cap[1] : 0) || 1) * 1.12;
    const [size, unit] = measure === "memory" ? format.bytesUnit(top / 1.12) : [1, "cores"];
    const [head, box] = node.children;
    head.firstChild.textContent = (measure === "cpu" ? "CPU, " : "Memory, ") + unit;
    axis(box, top / size, 0, format.short);
    const d = path(used, last, buckets, 0, top, 300, 100);
    box.querySelector(".used").setAttribute("d", d);
    box.querySelector(".area").setAttribute("d", d ? closed(d, 100) : "");
    box.querySelector(".limit").setAttribute("d", path(near, last, buckets, 0, top, 300, 100, true));
    const now = row[limitName];
    node.dataset.rest = known(now) ? (now > top ? "limit " + format.number(now / size) + " ↑" : "") : "no limit";
    if (!node.dataset.hover) head.lastChild.textContent = node.dataset.rest;
  }
  function drawLoss(node, row, lines) {
    const width = lines.loss ? lines.loss.width : 2, buckets = live.span() / width, last = lastBucket(width);
    const reach = bounds(lines.loss, last - buckets), [head, box] = node.children;
    head.firstChild.textContent = "Loss";
    node.classList.toggle("none", !reach);
    node.dataset.rest = reach ? format.significant(row.loss) : row.why || "no value yet";
    if (!node.dataset.hover) head.lastChild.textContent = reach ? node.dataset.rest : "";
    if (!reach) {
      box.querySelector(".ylabels").dataset.key = "";
      box.querySelector(".ylabels").replaceChildren(h("em", "ink3", node.dataset.rest));
      box.querySelector(".used").setAttribute("d", "");
      box.querySelector(".gridlines").innerHTML = "";
      return;
    }
    const low = reach[0] >= 0 ? 0 : reach[0], top = (reach[1] - low || Math.abs(reach[1]) || 1) * 1.12 + low;
    axis(box, top, low, format.short);
    box.querySelector(".used").setAttribute("d", path(gapless(lines.loss), last, buckets, low, top, 300, 100));
  }
  /* A loss is printed now and then: a line goes from one value to the next. */
  function gapless(line) {
    const values = line.values.slice();
    let before = -1;
    for (let i = 0; i < values.length; i++) {
      if (!known(values[i])) continue;
      if (before >= 0) for (let j = before + 1; j < i; j++) values[j] = values[before] + ((values[i] - values[before]) * (j - before)) / (i - before);
      before = i;
    }
    return { first: line.first, values };
  }
  const seen = new Set();
  const watcher = window.IntersectionObserver ? new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      const id = /** @type {HTMLElement} */ (entry.target).dataset.id;
      if (entry.isIntersecting) seen.add(id); else seen.delete(id);
    }
    if (live.page && live.page.drawn && live.page.node.isConnected) live.charts.draw(live.page);
  }, { rootMargin: "200px" }) : null;

  /* Containers with processes: only these have something to draw. */
  const running = (page) => page.rows.filter((row) => row.running);
  live.charts = {
    lacking: (page) => (page.node.dataset.all === "1" ? running(page).map((row) => row.id) : page.shown).some((id) => !page.charts.has(id)),
    /* The six that use most, chosen again only now and then, so that they do not jump. */
    choose: function (page) {
      const all = page.node.dataset.all === "1", here = page.shown.filter((id) => page.byId.has(id) && page.byId.get(id).running);
      const rows = running(page), want = all ? rows.length : Math.min(SIX, rows.length);
      if (here.length === page.shown.length && here.length === want && Date.now() - page.chosen < 1000 * CHOOSE) return;
      const ranked = rows.sort((a, b) => (b.steady || 0) - (a.steady || 0) || (a.name < b.name ? -1 : 1));
      page.shown = ranked.slice(0, want).map((row) => row.id);
      page.chosen = Date.now();
      if (live.charts.lacking(page)) page.soon = page.busy;
    },
    draw: function (page) {
      const holder = dom.element("live-small"), all = page.node.dataset.all === "1";
      const had = new Map(dom.children(holder).map((node) => [node.dataset.id, node]));
      page.shown.forEach(function (id, i) {
        const row = page.byId.get(id);
        const node = had.get(id) || make(row);
        had.delete(id);
        if (holder.children[i] !== node) holder.insertBefore(node, holder.children[i] || null);
        if (!all || !watcher || seen.has(id)) one(node, row, page);
      });
      had.forEach((node, id) => { if (watcher) watcher.unobserve(node); seen.delete(id); node.remove(); });
      const n = running(page).length, few = n <= SIX;
      const words = ["no", "one", "two", "three", "four", "five", "six"];
      dom.element("live-small-title").textContent = all || few ? "Each container over time" : "Top " + words[SIX] + " by CPU";
      const button = dom.element("live-all");
      button.hidden = few && !all;
      button.setAttribute("aria-expanded", String(all));
      dom.element("live-all-label").textContent = all ? "Top six" : "All " + n;
    },
    toggle: function () {
      const page = live.page, all = page.node.dataset.all === "1";
      page.node.dataset.all = all ? "0" : "1";
      live.write({ all: all ? null : "1" });
      page.chosen = 0;
      live.charts.choose(page);
      live.charts.draw(page);
      live.poke();
    },
    measure: function (name) {
      const page = live.page;
      page.node.dataset.measure = name;
      live.write({ measure: name === "cpu" ? null : name });
      page.node.querySelectorAll("button[data-measure]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.measure === name)));
      live.charts.draw(page);
    },
  };
  function one(node, row, page) {
    const badges = [];
    if (row.list) badges.push(live.listBadge(row));
    if (known(row.phase)) badges.push([format.phaseClass(row.phase), format.phaseName(row.phase, page.names)]);
    live.badges(node.querySelector(".badges"), badges);
    const lines = page.charts.get(row.id) || {}, plots = node.querySelectorAll(".plot");
    drawUse(plots[0], row, lines, page.node.dataset.measure);
    drawLoss(plots[1], row, lines);
    const text = "−" + live.span() / 120 + " min";
    if (node.lastChild.textContent !== text) node.lastChild.textContent = text;
  }

  /* What is under the pointer: the time, the usage and the limit. */
  function hover(event) {
    const box = dom.closest(event, "#live-small .plotbox");
    dom.all("#live-small .plot[data-hover]").forEach((plot) => {
      if (box && plot.closest(".smallone") === box.closest(".smallone")) return;
      delete plot.dataset.hover;
      dom.find(plot, ".cross").hidden = true;
      dom.find(plot, ".said").textContent = plot.classList.contains("none") ? "" : plot.dataset.rest || "";
    });
    if (!box || !live.page) return;
    const one = box.closest(".smallone"), lines = live.page.charts.get(one.dataset.id) || {}, edge = box.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - edge.left) / edge.width));
    one.querySelectorAll(".plot").forEach((plot) => point(plot, lines, share));
  }
  function point(plot, lines, share) {
    const measure = plot.classList.contains("loss") ? "loss" : live.page.node.dataset.measure;
    const line = lines[measure];
    if (!line) return;
    const bucket = Math.round(lastBucket(line.width) - (1 - share) * (live.span() / line.width));
    const value = line.values[bucket - line.first], limit = (lines[measure + "_limit"] || { values: [] }).values[bucket - line.first];
    const words = measure === "loss" ? { use: format.significant(value), rest: "" } : live.usageBeside(value, limit, measure === "memory");
    plot.dataset.hover = "1";
    const cross = plot.querySelector(".cross");
    cross.hidden = false;
    cross.style.left = 100 * share + "%";
    plot.querySelector(".said").textContent = (measure === "loss" ? "" : live.clock(bucket * line.width) + "  ") + words.use + words.rest;
  }
  document.addEventListener("pointermove", function (event) {
    if (live.page) hover(event);
  }, { passive: true });
})();
