// Copies commands.
(() => {
  "use strict";
  document.documentElement.classList.add("js"); // Shows the buttons.

  // copy uses the selection where the page has no clipboard, as over plain HTTP.
  const copy = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return true;
    } catch {
      getSelection().selectAllChildren(code);
      const done = document.execCommand("copy");
      if (done) getSelection().removeAllRanges();
      return done;
    }
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    button.textContent = await copy(button.previousElementSibling) ? "copied" : "press Ctrl+C";
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  });
})();
