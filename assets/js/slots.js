/* Files for named places, such as the parts of a model: chosen or dropped, recognised by their names,
   sent one by one as raw bodies, and then kept in the store {"type": "slot", "name": place}. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const NOTHING_SENT = "The file could not be sent. Check that PhaseDock still runs, then try again.";

  function place(name) {
    const lower = name.toLowerCase();
    if (lower.endsWith(".zip")) return "archive";
    if (lower.endsWith(".json")) return "initializer";
    if (/\.(pickle|pkl)$/.test(lower)) return "crbm";
    if (lower.includes("kmeans")) return "kmeans";
    if (lower.includes("scaler")) return "scaler";
    return null;
  }
  function node(slot) {
    return document.querySelector('[data-slot="' + slot + '"]');
  }
  function tell(text) {
    api.set_props("slots-problem", { data: text ? { text, at: Date.now() } : null });
  }
  function show(slot, share) {
    const element = node(slot);
    const bar = element && window.phasedock.dom.find(element, ".slot-progress");
    if (bar) bar.style.width = share === null ? "0" : (100 * share).toFixed(1) + "%";
  }
  function keep(slot, data) {
    api.set_props({ type: "slot", name: slot }, { data });
  }
  function sentence(text) {
    try {
      const error = JSON.parse(text).error;
      return error.message + " " + (error.hint || "");
    } catch {
      return NOTHING_SENT;
    }
  }
  function put(slot, id, file) {
    return new Promise(function (resolve) {
      const request = new XMLHttpRequest();
      request.open("PUT", window.phasedock.dom.at("/api/uploads/" + id));
      request.upload.onprogress = (event) => show(slot, event.loaded / Math.max(file.size, 1));
      request.onload = () => resolve(request.status < 300 ? null : sentence(request.responseText));
      request.onerror = () => resolve(NOTHING_SENT);
      request.send(file);
    });
  }
  async function send(slot, file) {
    show(slot, 0.02);
    let problem = null, id = null;
    try {
      const answer = await fetch(window.phasedock.dom.at("/api/uploads"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ name: file.name, size: file.size }),
      });
      const text = await answer.text();
      if (answer.ok) id = JSON.parse(text).id;
      else problem = sentence(text);
    } catch {
      problem = NOTHING_SENT;
    }
    if (id) problem = await put(slot, id, file);
    show(slot, null);
    if (problem) tell(problem);
    else keep(slot, { id, name: file.name, size: file.size });
  }
  async function take(files, wanted) {
    tell(null);
    const unknown = [];
    for (const file of files) {
      const slot = wanted && files.length === 1 ? wanted : place(file.name);
      if (slot && node(slot)) await send(slot, file);
      else unknown.push("“" + file.name + "”");
    }
    if (unknown.length) {
      tell("It is not clear which part " + unknown.join(", ") + " is. Choose the file beside the part it belongs to.");
    }
  }
  function choose(wanted) {
    const input = document.createElement("input");
    input.type = "file";
    input.multiple = !wanted;
    input.addEventListener("change", () => take(Array.from(input.files || []), wanted));
    input.click();
  }

  document.addEventListener("click", function (event) {
    const target = window.phasedock.dom.closest(event, "[data-choose],[data-clear]");
    if (!target) return;
    if (target.dataset.clear) {
      keep(target.dataset.clear, null);
      if (target.dataset.upload) fetch(window.phasedock.dom.at("/api/uploads/" + target.dataset.upload), { method: "DELETE" });
    } else {
      choose(target.dataset.choose === "any" ? null : target.dataset.choose);
    }
  });
  /* Where files that are dragged over the page may be dropped. */
  function zone(event) {
    const carries = event.dataTransfer && Array.from(event.dataTransfer.types).includes("Files");
    return carries ? document.querySelector("[data-slots]") : null;
  }
  document.addEventListener("dragover", function (event) {
    const over = zone(event);
    if (!over) return;
    event.preventDefault();
    over.classList.add("over");
  });
  document.addEventListener("dragleave", function (event) {
    const left = zone(event);
    if (left && !event.relatedTarget) left.classList.remove("over");
  });
  document.addEventListener("drop", function (event) {
    const over = zone(event);
    if (!over || !event.dataTransfer) return;
    event.preventDefault();
    over.classList.remove("over");
    take(Array.from(event.dataTransfer.files), null);
  });
})();
