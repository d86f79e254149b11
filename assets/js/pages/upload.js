/* Sending trace files: announced, then streamed as the raw body of one PUT, one file after the other.
   The queue lives as long as the tab, so a person may look at other pages while a file is on its way. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const queue = [];
  let ticker = null;
  let depth = 0;
  const format = window.phasedock.format;

  function make(tag, className, text) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function button(label, className, action) {
    const node = make("button", "btn small " + className, label);
    node.type = "button";
    node.addEventListener("click", action);
    return node;
  }

  /* One line of the list: name, what is going on, a bar, and the ways out. */
  function buildEntry(entry) {
    const node = make("div", "sending");
    node.append(make("div", "strong truncate", entry.file.name), make("div", "what"), make("div", "acts"), make("div", "bar"));
    const bar = node.lastChild;
    bar.append(make("i"));
    bar.setAttribute("role", "progressbar");
    bar.setAttribute("aria-label", "Sending " + entry.file.name);
    bar.setAttribute("aria-valuemin", "0");
    bar.setAttribute("aria-valuemax", "100");
    return node;
  }
  function formatSpeed(entry) {
    const first = entry.samples[0], last = entry.samples[entry.samples.length - 1];
    return last && last.at > first.at ? (last.sent - first.sent) / ((last.at - first.at) / 1000) : 0;
  }
  function describe(entry) {
    const size = entry.file.size;
    if (entry.state === "waits") return "Waiting for the previous file, " + format.bytes(size);
    if (entry.sent >= size) return "Uploaded, being stored";
    const rate = formatSpeed(entry);
    const parts = [format.bytes(entry.sent) + " of " + format.bytes(size), Math.floor((100 * entry.sent) / size) + "%"];
    if (rate > 0) parts.push(format.bytes(rate) + "/s", format.duration(Math.ceil((size - entry.sent) / rate)) + " left");
    return parts.join(" · ");
  }
  function show(entry) {
    const [, what, acts, bar] = entry.node.children;
    if (entry.state === "failed") return;
    const percent = entry.file.size ? Math.min(100, (100 * entry.sent) / entry.file.size) : 0;
    const text = describe(entry);
    if (what.textContent !== text) what.textContent = text;
    bar.firstChild.style.width = percent.toFixed(1) + "%";
    bar.setAttribute("aria-valuenow", percent.toFixed(0));
    if (!acts.firstChild) acts.append(button("Cancel", "", () => cancel(entry)));
  }
  function showFailure(entry) {
    const notice = make("div", "notice bad");
    notice.setAttribute("role", "alert");
    const text = make("div", "text");
    const ways = make("div", "acts");
    ways.append(
      button("Try again", "", () => { forget(entry); add([entry.file]); }),
      button("Choose another file", "", () => { forget(entry); choose(); }),
      button("Dismiss", "quiet", () => forget(entry)),
    );
    if (entry.hopeless) ways.firstChild.remove();
    text.append(make("b", "", entry.error.message + " "), entry.error.hint || "", ways);
    notice.append(make("span", "icon i-circle-x"), text);
    entry.node.className = "sending failed";
    entry.node.replaceChildren(notice);
  }
  function forget(entry) {
    entry.node.remove();
    queue.splice(queue.indexOf(entry), 1);
  }
  /* Files that were sent at once are told to the server together: they may belong together. */
  function settle(entry) {
    const batch = entry.batch;
    batch.left -= 1;
    if (batch.left > 0 || !batch.done.length || !document.getElementById("upload-list")) return;
    api.set_props("upload-done", { data: { ids: batch.done, at: Date.now() } });
  }
  function showProgress() {
    const list = document.getElementById("upload-list");
    queue.forEach(function (entry) {
      show(entry);
      if (list && entry.node.parentNode !== list) list.append(entry.node);
    });
    if (!queue.length) { clearInterval(ticker); ticker = null; }
  }

  function fail(entry, error) {
    entry.state = "failed";
    entry.error = error;
    showFailure(entry);
    settle(entry);
    startNextUpload();
  }
  function sentence(text, status) {
    try {
      const error = JSON.parse(text).error;
      if (error && error.message) return error;
    } catch { /* not JSON: a plain sentence of the gate, or a page of something in between */ }
    const plain = text && text.length < 300 && text.indexOf("<") < 0 ? text.trim() : "";
    return { message: plain || "The server did not take the file (" + status + ").", hint: "Try again." };
  }
  function cancel(entry) {
    entry.cancelled = true;
    if (entry.request) entry.request.abort();
    if (entry.id) fetch(window.phasedock.dom.at("/api/uploads/" + entry.id), { method: "DELETE" });
    forget(entry);
    settle(entry);
    startNextUpload();
  }
  function finishUpload(entry) {
    forget(entry);
    const done = { id: entry.id, name: entry.file.name, at: Date.now() };
    if (document.getElementById("upload-list")) {
      entry.batch.done.push(entry.id);
    } else {
      api.set_props("notices", { sendNotifications: [{
        action: "show", id: entry.id, color: "var(--ok)", autoClose: 10000,
        closeButtonProps: { "aria-label": "Close this message" },
        title: "Uploaded “" + done.name + "”", message: "Choose its columns on the Traces page.",
      }] });
    }
    settle(entry);
    startNextUpload();
  }

  async function begin(entry) {
    entry.state = "sends";
    let answer;
    try {
      answer = await fetch(window.phasedock.dom.at("/api/uploads"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name: entry.file.name, size: entry.file.size }),
      });
    } catch {
      return entry.cancelled ? undefined : fail(entry, describeUnreachable());
    }
    const text = await answer.text();
    if (!answer.ok) return entry.cancelled ? undefined : fail(entry, sentence(text, answer.status));
    entry.id = JSON.parse(text).id;
    if (entry.cancelled) return void fetch(window.phasedock.dom.at("/api/uploads/" + entry.id), { method: "DELETE" });
    send(entry);
  }
  function send(entry) {
    const request = (entry.request = new XMLHttpRequest());
    request.open("PUT", window.phasedock.dom.at("/api/uploads/" + entry.id));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = function (event) {
      entry.sent = event.loaded;
      entry.samples.push({ at: performance.now(), sent: event.loaded });
      while (entry.samples.length > 2 && entry.samples[0].at < performance.now() - 3000) entry.samples.shift();
    };
    request.onload = function () {
      if (request.status < 300) finishUpload(entry);
      else fail(entry, sentence(request.responseText, request.status));
    };
    request.onerror = function () { fail(entry, describeUnreachable()); };
    request.send(entry.file);
  }
  function describeUnreachable() {
    return {
      message: "The connection broke off before the file was complete.",
      hint: "Check that PhaseDock runs and that the file is still there, then try again; nothing was kept.",
    };
  }
  function startNextUpload() {
    if (queue.some((entry) => entry.state === "sends")) return;
    const entry = queue.find((one) => one.state === "waits");
    if (entry) begin(entry);
  }

  /* Why a file would be refused, as far as that is known before sending it. */
  function describeRefusal(file) {
    const zone = document.getElementById("drop");
    const limit = zone ? Number(zone.dataset.max) : Infinity;
    if (file.size > limit) {
      return {
        message: "“" + file.name + "” has " + format.bytes(file.size) + "; the limit is " + format.bytes(limit) + ".",
        hint: "Send a smaller file (Parquet is the smallest), or raise PHASEDOCK_MAX_UPLOAD.",
      };
    }
    if (file.size === 0) {
      return { message: "“" + file.name + "” is empty.", hint: "Choose a file with at least one row." };
    }
    return null;
  }
  function add(files) {
    const batch = { left: files.length, done: [] };
    Array.from(files).forEach(function (file) {
      const entry = { file, batch, state: "waits", sent: 0, samples: [] };
      entry.node = buildEntry(entry);
      queue.push(entry);
      const error = describeRefusal(file);
      if (error) {
        entry.hopeless = true;
        entry.state = "failed";
        entry.error = error;
        showFailure(entry);
        settle(entry);
      }
    });
    if (!ticker) ticker = setInterval(showProgress, 200);
    startNextUpload();
    showProgress();
  }
  function choose() {
    const input = make("input");
    input.type = "file";
    input.multiple = true;
    const zone = document.getElementById("drop");
    input.accept = (zone && zone.dataset.accept) || "";
    input.addEventListener("change", () => add(input.files));
    input.click();
  }

  document.addEventListener("click", function (event) {
    if (window.phasedock.dom.closest(event, ".choose-file")) choose();
  });
  /* A file may be dropped anywhere on the page; elsewhere the browser must not leave the page for it. */
  function carriesFiles(event) {
    return event.dataTransfer && Array.from(event.dataTransfer.types || []).includes("Files");
  }
  function highlightDropZone(on) {
    const zone = document.getElementById("drop");
    if (zone) zone.classList.toggle("over", on);
  }
  document.addEventListener("dragenter", function (event) {
    if (!carriesFiles(event)) return;
    depth += 1;
    highlightDropZone(true);
  });
  document.addEventListener("dragleave", function (event) {
    if (!carriesFiles(event)) return;
    depth = Math.max(0, depth - 1);
    if (!depth) highlightDropZone(false);
  });
  document.addEventListener("dragover", function (event) {
    if (!event.dataTransfer || !carriesFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = document.getElementById("upload-list") ? "copy" : "none";
  });
  document.addEventListener("drop", function (event) {
    if (!event.dataTransfer || !carriesFiles(event)) return;
    event.preventDefault();
    depth = 0;
    highlightDropZone(false);
    if (document.getElementById("upload-list")) add(event.dataTransfer.files);
  });
  window.addEventListener("beforeunload", function (event) {
    if (queue.some((entry) => entry.state !== "failed")) event.preventDefault();
  });
})();
