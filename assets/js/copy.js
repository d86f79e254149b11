/* Buttons that copy: data-copy is the text itself, data-fetch the address of the file that is copied. The
   outcome is shown in the button's data-label. */
(function () {
  "use strict";
  const SAID = 2000; // milliseconds

  /* Without a secure context there is no clipboard API; a selected text field does it there. */
  function write(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const field = document.createElement("textarea");
    field.value = text;
    document.body.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done ? Promise.resolve() : Promise.reject(new Error("the browser does not let pages copy"));
  }
  function read(address) {
    return fetch(address, { credentials: "same-origin" })
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error("refused"))));
  }
  function say(label, text) {
    label.textContent = text;
    setTimeout(() => { if (label.textContent === text) label.textContent = "Copy"; }, SAID);
  }

  document.addEventListener("click", function (event) {
    const button = window.phasedock.dom.closest(event, "[data-copy],[data-fetch]");
    if (!button) return;
    const label = button.querySelector("[data-label]");
    label.textContent = "Copy"; // no longer the outcome of the copy before
    const text = button.dataset.fetch ? read(button.dataset.fetch) : Promise.resolve(button.dataset.copy);
    text.then(write).then(() => say(label, "Copied"), () => say(label, "Not copied"));
  });
})();
