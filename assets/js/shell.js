/* The shell in the browser: colour scheme, keyboard, the line that shows that the server is busy. */
(function () {
  "use strict";
  const api = (window.dash_clientside = window.dash_clientside || /** @type {DashClientside} */ ({}));
  const root = document.documentElement, dom = window.phasedock.dom;

  new MutationObserver(function () {
    if (api.set_props && document.getElementById("scheme-anchor")) {
      api.set_props("scheme", { data: window.phasedock.figures.scheme() });
    }
  }).observe(root, { attributes: true, attributeFilter: ["data-mantine-color-scheme"] });

  /* Only work that a person waits for is worth a sign: requests longer than a third of a second. Dash's own hooks
     report requests and answers, but not failures, so fetches of its callback address are watched instead. */
  let waiting = 0;
  const fetchPlain = window.fetch;
  window.fetch = function (input, init) {
    const url = input instanceof Request ? input.url : String(input);
    if (!url.includes("_dash-update-component")) return fetchPlain.call(this, input, init);
    let shown = false;
    const timer = setTimeout(function () {
      shown = true;
      waiting += 1;
      document.body.classList.add("busy");
    }, 350);
    return fetchPlain.call(this, input, init).then(function (answer) {
      if (answer.headers.has("X-PhaseDock-Foreign")) answer.clone().text().then(refused);
      return answer;
    }).finally(function () {
      clearTimeout(timer);
      if (shown && (waiting -= 1) <= 0) document.body.classList.remove("busy");
    });
  };

  /* Behind a proxy that changes the Host header, no page can come: why is said in its place. */
  function refused(sentence) {
    if (document.querySelector(".refused")) return;
    const notice = document.createElement("div");
    notice.className = "notice bad refused";
    notice.setAttribute("role", "alert");
    notice.textContent = sentence;
    document.body.prepend(notice);
  }

  /* What stands there before the page has come goes part by part, as each is there. */
  new MutationObserver(function (_changes, observer) {
    const look = document.getElementById("first-look");
    const gone = function (filled, parts) {
      const there = document.getElementById(filled);
      if (!look || !there || !there.firstElementChild) return false;
      look.querySelectorAll(parts).forEach((part) => part.remove());
      return true;
    };
    const frame = gone("rail-links", ":scope > .rail, :scope > .topbar");
    if (!gone("_pages_content", ":scope > .main") || !frame) return;
    if (look) look.remove();
    observer.disconnect();
    /* What had the focus may be gone with the page before: the keyboard goes on from the beginning of the new one. */
    new MutationObserver(function () {
      if (document.activeElement === document.body) dom.element("page").focus({ preventScroll: true });
    }).observe(dom.element("_pages_content"), { childList: true });
  }).observe(document.body, { childList: true, subtree: true });

  /* Mantine's select is a text field that opens a list, and does not say so: then a list that scrolls counts as one
     that the keyboard cannot reach. */
  document.addEventListener("focusin", function (event) {
    const field = dom.closest(event, 'input[aria-haspopup="listbox"]:not([role])');
    if (!field) return;
    const opened = () => field.setAttribute("aria-expanded", String(field.hasAttribute("aria-controls")));
    field.setAttribute("role", "combobox");
    opened();
    new MutationObserver(opened).observe(field, { attributes: true, attributeFilter: ["aria-controls"] });
  });

  /* What is wrong with what a button was asked may be said far from it, as below a long form on a phone. */
  document.addEventListener("click", function (event) {
    if (!dom.closest(event, "#page button")) return;
    const faults = () => dom.all("#page .notice.bad"), before = new Set(faults());
    const watch = new MutationObserver(function () {
      const said = faults().find((each) => !before.has(each));
      if (!said) return;
      said.scrollIntoView({ block: "nearest" });
      watch.disconnect();
    });
    watch.observe(dom.element("page"), { childList: true, subtree: true });
    setTimeout(() => watch.disconnect(), 3000);
  });

  function click(id) {
    const element = document.getElementById(id);
    if (element) element.click();
  }
  /* On a phone the choice of traces, model and engine is at the end of the menu. */
  document.addEventListener("click", function (event) {
    if (dom.closest(event, ".open-search")) click("open-search");
    if (dom.closest(event, "[data-help]")) {
      event.preventDefault();
      window.dash_clientside.set_props("search", { opened: false });
      click("open-help");
    }
    if (!dom.closest(event, "#open-choice")) return;
    click("open-menu");
    setTimeout(function () {
      const field = document.getElementById("phone-traces");
      if (field) field.scrollIntoView({ block: "center" });
    }, 350);
  });
  document.addEventListener("keydown", function (event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      click("open-search");
      typeHere(60);
    } else if (event.key === "?" && !dom.typing(event)) {
      click("open-help");
    } else if (document.getElementById("search-results") && dom.field(event, "search-text")) {
      searchKey(event);
    }
  });
  /* Whoever opens the search by its key types at once: not only after the window has faded in. */
  function typeHere(frames) {
    const input = document.getElementById("search-text");
    if (input) input.focus();
    else if (frames) requestAnimationFrame(() => typeHere(frames - 1));
  }
  function searchKey(event) {
    const links = dom.all("#search-results a");
    const at = links.findIndex((link) => link.classList.contains("on"));
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const next = (at + (event.key === "ArrowDown" ? 1 : links.length - 1) + (at < 0 && event.key === "ArrowUp" ? 1 : 0)) % links.length;
      links.forEach((link, i) => link.classList.toggle("on", i === next));
      if (links[next]) links[next].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      const link = links[at < 0 ? 0 : at];
      if (link) link.click();
    }
  }

  api.shell = {
    /* A picker was changed: the choice goes into the address, which is the only place that keeps it.
       What the server itself filled in is no choice. */
    choose: function (traces, model, engine, search, resolved) {
      const query = new URLSearchParams(search || "");
      if (traces && traces !== resolved.traces) {
        ["model", "execution", "x0", "x1", "lanes", "dwell"].forEach((key) => query.delete(key));
        query.set("traces", traces);
      } else if (model && model !== resolved.model) {
        if (resolved.traces) query.set("traces", resolved.traces);
        query.delete("dwell");
        query.set("model", model);
      } else if (engine && engine !== resolved.engine) {
        query.set("engine", engine);
      } else {
        return api.no_update;
      }
      return "?" + query.toString();
    },
    /* An overlay opens by its button and closes when the address changes. */
    openOverlay: function () {
      return api.callback_context.triggered.some((t) => t.prop_id.endsWith(".n_clicks") && t.value);
    },
    openSearch: function () {
      return api.shell.openOverlay();
    },
  };
})();
