/* The page of running containers: one small question per tick, and what to do with the answer.
   All that moves is drawn here; panels with text come from the server when their signature changed. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const pd = (window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({}));
  const dom = pd.dom, live = (pd.live = pd.live || { page: null });
  const SETTLE = 10; // seconds between two sortings of the table
  const FEW = 8; // containers beside whose table there is room
  const LATE = 5; // seconds without a sample before this is said
  const LOG = 1800; // milliseconds between two looks at a log
  const ASK = 350; // milliseconds after the last change of a form before it is asked about

  /* Names of one experiment differ at their end: one that is too long is cut before its last letters. */
  live.cut = (name) => (name.length > 12 ? [name.slice(0, -6), name.slice(-6)] : [name, ""]);
  live.call = (element, name) => {
    element.classList.add("midcut");
    element.setAttribute("aria-label", name);
    element.replaceChildren(...live.cut(name).map((part) => Object.assign(document.createElement("span"), { textContent: part })));
  };
  live.clock = (moment) => new Date(moment * 1000).toLocaleTimeString("en-GB");

  function begin(node) {
    live.page = {
      node, engine: node.dataset.engine, every: +node.dataset.every, shape: "", since: null, at: null,
      heard: 0, skew: 0, busy: false, next: 0, failed: 0, rows: [], byId: new Map(), panels: {}, able: {}, totals: {},
      together: {}, counts: new Map(), charts: new Map(), shown: [], chosen: 0, sorted: 0, wake: null, drawn: false,
    };
    live.table.begin();
  }
  live.paused = () => live.page.node.dataset.paused === "1";
  live.span = () => {
    /* How much of the ten minutes is shown: no more than twice what there is. */
    const page = live.page, first = page.firstSample;
    const there = first && page.at ? page.at - first : 0;
    return there > 290 ? 600 : there > 110 ? 300 : 120;
  };
  live.now = () => Date.now() / 1000 - live.page.skew;

  setInterval(function () {
    const node = document.getElementById("live");
    if (!node) { live.page = null; return; }
    if (!live.page || live.page.node !== node || live.page.engine !== node.dataset.engine) begin(node);
    const page = live.page;
    if (!document.hidden && !live.paused() && !page.busy && Date.now() >= page.next) ask(page);
    if (Date.now() - page.heard >= 950) { page.heard = Date.now(); age(page); }
  }, 200);

  function address(page) {
    const query = new URLSearchParams();
    if (page.since !== null) { query.set("since", page.since); query.set("shape", page.shape); }
    const wanted = page.node.dataset.all === "1" ? ["all"] : page.shown;
    if (wanted.length) query.set("charts", wanted.join(","));
    if (live.charts.lacking(page)) query.set("fresh", "1");
    if (page.node.dataset.model) query.set("model", page.node.dataset.model);
    return window.phasedock.dom.at("/api/live/" + encodeURIComponent(page.engine) + "?" + query);
  }

  async function ask(page) {
    page.busy = true;
    const began = Date.now();
    try {
      const answer = await fetch(address(page), { signal: AbortSignal.timeout(8000) });
      if (!answer.ok) throw new Error(String(answer.status));
      const news = await answer.json();
      if (live.page === page && page.node.isConnected) absorb(page, news);
      page.failed = 0;
    } catch (problem) {
      page.failed += 1;
      const { name, message } = /** @type {Error} */ (problem);
      // deno-lint-ignore no-console
      if (!["TypeError", "TimeoutError"].includes(name) && !/^\d+$/.test(message)) console.error(problem);
    }
    page.busy = false;
    page.next = page.soon ? 0 : page.failed ? Date.now() + 1000 * Math.min(30, 2 ** page.failed) : began + 1000 * page.every - 60;
    page.soon = false;
    if (live.page === page && page.node.isConnected) age(page);
  }
  /* Polls at once, not at the next tick, after an action. */
  live.poke = function () {
    if (!live.page) return;
    live.page.soon = live.page.busy;
    live.page.next = 0;
    if (live.paused() && !live.page.busy) ask(live.page);
  };

  /* Put a block of buckets into a line that begins at its own first bucket. */
  function merge(line, first, values, most) {
    if (!line.values.length || first > line.first + line.values.length + most || first < line.first) {
      line.first = first;
      line.values = values.slice();
    } else {
      for (let i = line.values.length; i < first - line.first; i++) line.values[i] = null;
      for (let i = 0; i < values.length; i++) line.values[first - line.first + i] = values[i];
    }
    const over = line.values.length - most;
    if (over > 0) { line.values.splice(0, over); line.first += over; }
  }
  function take(holder, block, i) {
    for (const name in block) {
      if (!Array.isArray(block[name]) || name === "ids") continue;
      const line = holder[name] || (holder[name] = { first: 0, width: block.width, values: [] });
      merge(line, block.first, block[name][i], Math.ceil(600 / block.width));
    }
  }

  function absorb(page, news) {
    const started = performance.now();
    page.skew = Date.now() / 1000 - news.now;
    page.at = news.at;
    page.state = news.state;
    page.totals = news.totals;
    page.wake = news.wake;
    page.steered = news.steered;
    page.names = news.phase_names;
    page.recording = news.recording;
    if (news.rows) adopt(page, news.rows);
    page.shape = news.shape;
    page.rows.forEach((row, i) => { for (const name in news.columns) row[name] = news.columns[name][i]; });
    if (news.sparks) {
      page.rows.forEach((row, i) => take(row.lines, news.sparks, i));
      take(page.together, news.together, 0);
      page.since = news.at;
      count(page);
    }
    if (news.charts) news.charts.ids.forEach((id, i) => {
      const had = page.charts.get(id) || {};
      take(had, news.charts, i);
      page.charts.set(id, had);
    });
    updateSmoothedUse(page);
    page.node.classList.remove("waiting");
    page.node.classList.toggle("few", page.rows.length <= FEW);
    page.node.classList.toggle("nothing", !page.rows.length);
    live.totals.draw(page);
    const settle = news.rows || Date.now() - page.sorted > 1000 * SETTLE;
    live.table.draw(page, settle);
    if (settle) page.sorted = Date.now();
    live.charts.choose(page);
    live.charts.draw(page);
    panels(page, news.panels);
    applyCapabilities(page, news.able);
    moving(page);
    page.drawn = true;
    performance.clearMeasures("phasedock-tick");
    performance.measure("phasedock-tick", { start: started, end: performance.now() });
  }
  function adopt(page, rows) {
    page.rows = rows.map((row) => Object.assign(row, { lines: (page.byId.get(row.id) || { lines: {} }).lines }));
    page.byId = new Map(page.rows.map((row) => [row.id, row]));
    for (const id of page.charts.keys()) if (!page.byId.has(id)) page.charts.delete(id);
  }
  /* The mean of the last quarter minute: what the table is sorted by. */
  function updateSmoothedUse(page) {
    page.firstSample = null;
    for (const row of page.rows) {
      const cpu = row.lines.cpu;
      const last = cpu ? cpu.values.slice(-3).filter((v) => v !== null) : [];
      row.steady = last.length ? last.reduce((a, b) => a + b, 0) / last.length : row.cpu;
      if (!cpu) continue;
      const seen = cpu.values.findIndex((v) => v !== null);
      const at = (cpu.first + seen) * cpu.width;
      if (seen >= 0 && (!page.firstSample || at < page.firstSample)) page.firstSample = at;
    }
  }
  /* How many containers there were: known from their lines for those that are here, and from now on for all. */
  function count(page) {
    const width = 5, last = Math.floor(page.at / width);
    if (!page.counts.size) page.rows.forEach((row) => row.lines.cpu.values.forEach((value, i) => {
      const at = row.lines.cpu.first + i;
      if (value !== null) page.counts.set(at, (page.counts.get(at) || 0) + 1);
    }));
    page.counts.set(last, page.totals.containers);
    for (const at of page.counts.keys()) if (at < last - 120) page.counts.delete(at);
  }
  function panels(page, now) {
    if (JSON.stringify(now) === JSON.stringify(page.panels)) return;
    page.panels = now;
    api.set_props("live-panels", { data: Object.assign({ engine: page.engine, model: page.node.dataset.model }, now) });
  }
  /* Buttons of the server's forms that need containers, or jobs that wait, and have none; told once of each change,
     since a button is also disabled while the server works for it. */
  function applyCapabilities(page, now) {
    for (const id in now) {
      const button = document.getElementById(id), had = page.able[id];
      if (!button || (had && had.button === button && had.may === now[id])) continue;
      page.able[id] = { button: button, may: now[id] };
      api.set_props(id, { disabled: !now[id] });
    }
  }
  /* Texts in the server's panels that keep changing: the countdown, and how much was recorded. */
  function moving(page) {
    const say = (name, text) => dom.all('[data-moving="' + name + '"]').forEach((element) => {
      if (element.textContent !== text) element.textContent = text;
    });
    say("wake", page.wake ? "in " + pd.format.duration(Math.max(0, Math.ceil(page.wake - live.now()))) : "on events");
    if (page.recording) {
      say("samples", pd.format.count(page.recording[0]));
      say("recorded", pd.format.count(page.recording[1]));
      say("bytes", pd.format.bytes(page.recording[2]));
    }
    dom.all("[data-at]").forEach((element) => {
      const before = element.matches(".dueaxis > * + *") && /** @type {HTMLElement} */ (element.previousElementSibling);
      const text = moment(Number(element.dataset.at), before ? Number(before.dataset.at) : Date.now() / 1000);
      if (element.textContent !== text) element.textContent = text;
    });
    dom.all("[data-duebegin]").forEach((element) => {
      const begin = Number(element.dataset.duebegin), end = Number(element.dataset.dueend);
      const share = Math.min(1, Math.max(0, (live.now() - begin) / (end - begin)));
      element.style.setProperty("--now", (100 * share).toFixed(2) + "%");
    });
    dom.all("[data-since]").forEach((element) => {
      element.textContent = pd.format.duration(Math.max(0, Math.round(live.now() - Number(element.dataset.since))));
    });
  }
  live.moving = moving;
  /* A moment by the clock of whoever looks; its day where that is not known from another: today, or on an axis the
     moment before it. */
  function moment(at, known) {
    const then = new Date(at * 1000), clock = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    const same = then.toDateString() === new Date(known * 1000).toDateString();
    const day = same ? "" : then.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) + " ";
    return day + clock;
  }

  /* How old the data is; beyond a few seconds that is said in words, and the data is still shown. */
  function age(page) {
    const old = page.at === null ? null : Math.max(0, live.now() - page.at);
    const text = live.paused() ? "paused" + (old === null ? "" : ", " + pd.format.duration(Math.round(old)) + " old")
      : old === null ? "no sample yet" : "updated " + pd.format.duration(Math.round(old)) + " ago";
    const line = dom.element("live-age-line");
    dom.element("live-age").textContent = text;
    const late = !live.paused() && old !== null && old > Math.max(LATE, 2 * page.every + 2);
    line.classList.toggle("late", late || page.failed > 1);
    tellLate(page, late, old);
    if (page.at !== null) moving(page);
  }
  function tellLate(page, late, old) {
    const slot = dom.element("live-late");
    const seconds = old === null ? "" : pd.format.duration(Math.round(old));
    let text = "";
    if (page.failed > 1) {
      const wait = Math.max(0, Math.ceil((page.next - Date.now()) / 1000));
      text = (old === null ? "" : "Last sample " + seconds + " ago. ") + "PhaseDock does not answer; limits are unchanged. " +
        (page.busy ? "Trying now." : "Next try in " + wait + " s.");
    } else if (late && page.state === "ready") {
      text = "Last sample " + seconds + " ago. The worker is late; limits are unchanged.";
    } else if (late && page.state === "lost") {
      text = "Last sample " + seconds + " ago. The Docker host does not answer; limits are unchanged.";
    }
    if (slot.textContent === text) return;
    slot.textContent = "";
    if (!text) return;
    const notice = document.createElement("div");
    notice.className = "notice warn";
    notice.innerHTML = '<span class="icon i-clock" aria-hidden="true"></span><div class="text"></div>';
    dom.find(notice, ".text").textContent = text;
    slot.append(notice);
  }

  /* The log in a container's window: its last lines, renewed while the window is open. */
  setInterval(async function () {
    const node = document.getElementById("live-log");
    if (!node || document.hidden || node.dataset.busy) return;
    node.dataset.busy = "1";
    try {
      const { engine = "", container = "" } = node.dataset, query = new URLSearchParams({ id: container });
      const answer = await (await fetch("/api/live/" + encodeURIComponent(engine) + "/log?" + query)).json();
      const text = answer.why || answer.lines.join("\n") || "It has printed nothing.";
      const atEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 4;
      if (node.textContent !== text) {
        node.textContent = text;
        if (atEnd || !node.dataset.filled) node.scrollTop = node.scrollHeight;
        node.dataset.filled = "1";
      }
    } catch { /* the next attempt may do better; lines that are there stay */ }
    setTimeout(() => { delete node.dataset.busy; }, LOG);
  }, 200);

  function write(changes) {
    const url = new URL(window.location.href);
    for (const key in changes) {
      if (changes[key]) url.searchParams.set(key, changes[key]);
      else url.searchParams.delete(key);
    }
    window.history.replaceState(window.history.state, "", url);
  }
  live.write = write;
  function pause() {
    const node = live.page.node, paused = !live.paused();
    node.dataset.paused = paused ? "1" : "0";
    dom.element("live-pause").setAttribute("aria-label", paused ? "Resume" : "Pause");
    live.page.next = 0;
    age(live.page);
  }
  document.addEventListener("click", function (event) {
    if (!live.page) return;
    const button = dom.closest(event, "#live-pause,[data-live],#live-all,[data-measure],[data-unfold]");
    if (!button || button.disabled || button === live.page.node) return;
    if (button.id === "live-pause") pause();
    else if (button.dataset.live === "again") live.poke();
    else if (button.dataset.live === "csv") live.table.csv();
    else if (button.id === "live-all") live.charts.toggle();
    else if (button.tagName === "BUTTON" && button.dataset.measure) live.charts.measure(button.dataset.measure);
    else if (button.dataset.unfold) {
      const open = dom.element(button.dataset.unfold).classList.toggle("open");
      button.setAttribute("aria-expanded", open);
    }
  });
  document.addEventListener("keydown", function (event) {
    if (!live.page || event.ctrlKey || event.metaKey || event.altKey) return;
    if (dom.typing(event) || document.querySelector(".mantine-Modal-content")) return;
    if (event.key === "p" || event.key === "P") pause();
  });
  document.addEventListener("input", function (event) {
    const field = live.page && dom.field(event, "live-filter");
    if (!field) return;
    live.table.filter(field.value);
    write({ text: field.value });
  });

  let asking = 0;
  api.live = {
    /* A moment after the last change of a job's form, asks whether its deadline can be met; returns the time zone. */
    asking: function (values, switches, ids) {
      clearTimeout(asking);
      const entered = {};
      ids.forEach((id, i) => {
        const value = switches[i] ?? values[i] ?? null;
        if (value !== null) entered[id.name] = value;
      });
      if (ids.length) asking = setTimeout(() => api.set_props("live-job-asked", { data: entered }), ASK);
      return Intl.DateTimeFormat().resolvedOptions().timeZone;
    },
    every: function (value) {
      if (!live.page || !value) return;
      live.page.every = +value;
      live.page.node.dataset.every = value;
      live.page.next = 0;
      write({ every: value === "1" ? null : value });
    },
    poke: live.poke,
  };
})();
