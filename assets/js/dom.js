/* Typed helpers for events and for elements of the page. */
(function () {
  "use strict";
  const pd = (window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({}));

  pd.dom = {
    /* An address of PhaseDock's own as the browser asks for it: behind a proxy, below its prefix. */
    at: (path) => document.documentElement.dataset.prefix + path,
    /* The closest element around an event's target that the selector matches. */
    closest: (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null),
    /* Whether a key is meant for an input field. */
    typing: (event) => event.target instanceof HTMLElement &&
      (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable),
    /* The event's target, if it is the field of that id. */
    field: (event, id) => (event.target instanceof HTMLInputElement && event.target.id === id ? event.target : null),
    /* An element that is always there when this is called. */
    element: (id) => /** @type {HTMLElement} */ (document.getElementById(id)),
    find: (within, selector) => /** @type {HTMLElement} */ (within.querySelector(selector)),
    all: (selector) => /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll(selector))),
    children: (holder) => /** @type {HTMLElement[]} */ (Array.from(holder.children)),
  };
})();
