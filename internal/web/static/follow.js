"use strict";
(() => {
  // What grows is added below what is there. Its ID is a place in the server's file, so that a page that
  // comes back is told exactly what it missed. The HTML was made by the server's templates.
  const log = document.querySelector("[data-stream]");
  if (!log) return;
  const button = document.getElementById("follow"), most = 3000;
  let place = log.dataset.after, source = null, following = button && location.hash !== "#top";
  const end = () => document.scrollingElement.scrollHeight - innerHeight;
  const down = () => { if (following) scrollTo(0, end()); };
  const follow = (on) => { following = on; if (button) button.hidden = on; down(); };
  const grow = (old, add) => old.querySelector(".text")?.append(add.querySelector(".text").textContent);
  const put = (e) => {
    const same = e.id && document.getElementById(e.id), last = log.lastElementChild;
    if (same && log.contains(same)) {
      if (e.hasAttribute("data-grow")) { grow(same, e); return; }
      e.open = same.open;
      same.replaceWith(e);
    } else if (e.dataset.join && last?.dataset.join === e.dataset.join) {
      if (e.matches(".text")) last.append(e.textContent); else grow(last, e);
    } else {
      log.append(e);
    }
  };
  const add = (html) => {
    const box = document.createElement("template");
    box.innerHTML = html;
    document.getElementById("nothing")?.remove();
    for (const e of [...box.content.children]) put(e);
    while (following && log.childElementCount > most) log.firstElementChild.remove();
    down();
  };
  const listen = () => {
    if (document.hidden) { source?.close(); source = null; return; }
    if (source) return;
    source = new EventSource(`${log.dataset.stream}?after=${place}`);
    source.addEventListener("add", (e) => { place = e.lastEventId; add(JSON.parse(e.data)); });
    source.addEventListener("again", () => { source.close(); location.reload(); });
  };
  if (button) {
    let was = scrollY;
    addEventListener("scroll", () => {
      if (scrollY < was - 2 && scrollY < end() - 40) follow(false);
      else if (scrollY >= end() - 4) follow(true);
      was = scrollY;
    }, { passive: true });
    button.addEventListener("click", () => follow(true));
    if (log.dataset.running !== undefined) down(); else follow(false), button.hidden = true;
  }
  document.addEventListener("visibilitychange", listen);
  listen();
})();
