// Refreshes the page without a reload.
(() => {
  "use strict";
  const every = Number(document.currentScript.dataset.every) * 1000;
  const parts = ["verdict", "steps", "numbers", "problems", "failure", "changes", "fleet"];
  let last = new Date();

  const busy = () => document.hidden || !getSelection().isCollapsed;

  // put replaces a part that has changed, and restores the focus on its link.
  const put = (now, next) => {
    if (now.innerHTML === next.innerHTML) return;
    const href = now.contains(document.activeElement) && document.activeElement.getAttribute("href");
    now.replaceChildren(...next.childNodes);
    if (href) now.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus({ preventScroll: true });
  };

  // refresh replaces the sentence only when it changed, as screen readers read it out.
  const refresh = (page) => {
    for (const id of parts) {
      const now = document.getElementById(id), next = page.getElementById(id);
      if (!now || !next) continue;
      if (id !== "verdict") { put(now, next); continue; }
      // Both have the same elements in the same order.
      for (const [i, child] of [...next.children].entries()) {
        const old = now.children[i];
        if (old && old.outerHTML !== child.outerHTML) {
          if (old.getAttribute("role") === "status") put(old, child);
          else old.replaceWith(child);
        }
      }
    }
    document.title = page.title;
    document.querySelector("link[rel=icon]").href = page.querySelector("link[rel=icon]").href;
  };

  const lost = () => {
    const age = document.getElementById("age");
    if (!age) return;
    age.className = "late";
    age.textContent = `The exporter has not answered since ${last.toLocaleTimeString()}; showing its last answer.`;
  };

  const ask = async () => {
    if (!busy()) {
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
        if (!answer.ok) throw new Error(answer.status);
        const text = await answer.text();
        if (!busy()) refresh(new DOMParser().parseFromString(text, "text/html"));
        last = new Date();
      } catch {
        lost();
      }
    }
    setTimeout(ask, every);
  };
  setTimeout(ask, every);
})();
