/* What the scripts ask of events and of the page, with the types of what they get. */
(function () {
  "use strict";
  const pd = (window.phasedock = window.phasedock || /** @type {PhaseDock} */ ({}));

  pd.dom = {
    /* The element around where it happened that the selector names. */
    closest: (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null),
    /* Whether keys are meant for a field. */
    typing: (event) => event.target instanceof HTMLElement &&
      (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable),
    /* The field of that id, if that is where it happened. */
    field: (event, id) => (event.target instanceof HTMLInputElement && event.target.id === id ? event.target : null),
    /* An element that is there whenever it is asked for. */
    element: (id) => /** @type {HTMLElement} */ (document.getElementById(id)),
    find: (within, selector) => /** @type {HTMLElement} */ (within.querySelector(selector)),
    all: (selector) => /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll(selector))),
    children: (holder) => /** @type {HTMLElement[]} */ (Array.from(holder.children)),
  };
})();
