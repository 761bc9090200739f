"use strict";
(() => {
  // Pages stay current: the server says that something has changed, the page is fetched again, and what is
  // marked data-live takes its place. A page that nobody sees holds no connection.
  const offline = document.querySelector(".offline");
  let source = null, last = "", tag = "", busy = false, again = false;
  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.pathname + location.search, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
      offline.hidden = true;
      if (answer.status === 401) { location.reload(); return; }
      if (answer.ok) {
        tag = answer.headers.get("ETag") || "";
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        for (const old of document.querySelectorAll("[data-live]")) {
          const now = fresh.getElementById(old.id);
          if (now && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement?.closest("input, textarea, select"))) old.replaceChildren(...now.childNodes);
        }
        const nav = fresh.querySelector("nav.top");
        if (nav) document.querySelector("nav.top").innerHTML = nav.innerHTML;
      }
    } catch {
      offline.hidden = false;
    }
    setTimeout(() => { busy = false; if (again) { again = false; refresh(); } }, 1000);
  };
  const listen = () => {
    if (document.hidden) { source?.close(); source = null; return; }
    if (source || !document.querySelector("[data-live]")) return;
    source = new EventSource("/live");
    let first = true;
    source.addEventListener("changed", (e) => {
      if (e.lastEventId !== last && !(first && !last)) refresh();
      first = false;
      last = e.lastEventId;
    });
    source.addEventListener("error", () => { offline.hidden = false; });
    source.addEventListener("open", () => { offline.hidden = true; });
  };
  document.addEventListener("visibilitychange", listen);
  listen();
})();
