"use strict";
(() => {
  const $ = (what, from = document) => from.querySelector(what), $$ = (what, from = document) => [...from.querySelectorAll(what)];
  const body = document.body, offline = $(".offline");
  const say = (text) => { if (offline.textContent !== text) offline.textContent = text; offline.hidden = !text; };

  // Pages stay current. The server says that something has changed, the page is fetched again, and what is marked data-live
  // becomes what it is there, node by node: focus, selection, scroll, open details and what was typed stay.
  const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");
  const attributes = (old, now) => {
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && name !== "open" && name !== "data-at") old.removeAttribute(name);
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
  };
  const selected = (node) => { const s = getSelection(); return s && !s.isCollapsed && s.containsNode(node, true); };
  const morph = (old, now) => {
    if (old.isEqualNode(now)) return;
    if (old.nodeType !== 1) { if (old.nodeValue !== now.nodeValue && !selected(old)) old.nodeValue = now.nodeValue; return; }
    if (old.matches("input, textarea, select")) {
      const typed = old === document.activeElement || (old.nodeName === "SELECT" ? [...old.options].some((o) => o.selected !== o.defaultSelected) : old.value !== old.defaultValue || old.checked !== old.defaultChecked);
      if (typed && old.type !== "hidden") return;
    }
    attributes(old, now);
    if (old.nodeName === "TEXTAREA") { old.value = now.value; return; }
    let at = old.firstChild;
    for (const fresh of [...now.childNodes]) {
      let match = at;
      if (fresh.id) match = [...old.children].find((c) => c.id === fresh.id) || null;
      if (match && same(match, fresh)) {
        if (match !== at) old.insertBefore(match, at); else at = at.nextSibling;
        morph(match, fresh);
      } else if (at && !at.id && !fresh.id && at.nodeType === 1 && fresh.nodeType === 1 && !at.contains(document.activeElement)) {
        const next = at.nextSibling; at.replaceWith(fresh); at = next;
      } else old.insertBefore(fresh, at);
    }
    while (at) { const next = at.nextSibling; if (!at.contains?.(document.activeElement) || at === document.activeElement.parentNode) at.remove(); at = next; }
  };

  let source = null, state = body.dataset.state, tag = "", busy = false, again = "";
  const refresh = async (to) => {
    if (busy) { again = to; return; }
    busy = true;
    try {
      const headers = { "Ralph-State": to };
      if (tag) headers["If-None-Match"] = tag;
      const answer = await fetch(location.href.split("#")[0], { headers, cache: "no-store" });
      if (answer.status === 401) { say("This server was started again: open the link that it printed. Nothing you typed here is lost until you leave this page."); source?.close(); return; }
      if (answer.status !== 304) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (!answer.ok) { say(($("main .why", fresh)?.textContent || "The project cannot be read").trim() + ". This page shows what was known last, and looks again by itself."); return; }
        tag = answer.headers.get("ETag") || "";
        for (const old of $$("[data-live]")) { const now = fresh.getElementById(old.id); if (now) morph(old, now); }
        morph($("nav.top"), $("nav.top", fresh));
        document.title = fresh.title;
        document.dispatchEvent(new Event("ralph:live"));
      }
      say("");
      state = to;
    } catch {
      say("The server does not answer. This page shows what was known last, and looks again by itself.");
    } finally {
      setTimeout(() => { busy = false; if (again) { const to = again; again = ""; refresh(to); } }, 500);
    }
  };
  // A browser has six connections to a server, so one of its windows listens and tells the others.
  const channel = window.BroadcastChannel && new BroadcastChannel("ralph"), heard = (id) => { if (id !== state || !offline.hidden) refresh(id); };
  let leads = null, asked = null, last = "";
  channel?.addEventListener("message", (e) => {
    if (e.data !== "?") { if (!document.hidden) heard(e.data); } else if (leads && last) channel.postMessage(last);
  });
  const lead = () => {
    if (asked) return;
    asked = new AbortController();
    channel.postMessage("?"); // what was missed
    navigator.locks.request("ralph live", { signal: asked.signal }, () => new Promise((done) => { leads = done; listen(); })).catch(() => {});
  };
  const listen = () => {
    if (document.hidden) { // a page that nobody sees holds no connection
      source?.close(); source = null;
      if (leads) leads(); else asked?.abort();
      leads = asked = null;
      return;
    }
    if (source && source.readyState !== 2 || !$("[data-live]")) return;
    if (!leads && channel && navigator.locks) { lead(); return; }
    source = new EventSource("/live");
    source.addEventListener("changed", (e) => { last = e.lastEventId; channel?.postMessage(last); heard(last); });
    source.addEventListener("error", () => {
      say("The server does not answer. This page shows what was known last, and looks again by itself.");
      if (source.readyState === 2) setTimeout(() => { refresh("back"); listen(); }, 3000);
    });
  };
  document.addEventListener("visibilitychange", listen);
  window.addEventListener("pageshow", listen);
  listen();

  // What a command said is shown once: another look at the page, or its address, is without it.
  const here = new URL(location.href);
  if (here.searchParams.has("said")) { here.searchParams.delete("said"); history.replaceState(null, "", here); for (const b of $$("input[name=back]")) b.value = here.pathname + here.search; }
  document.addEventListener("submit", (e) => { // once, however often it is clicked
    if (e.target.method !== "post") return;
    if (e.target.dataset.sent) e.preventDefault();
    e.target.dataset.sent = "1";
    setTimeout(() => delete e.target.dataset.sent, 3000);
  });

  const commands = $("#commands");
  const showCommands = (on) => { commands.checked = on; try { localStorage.commands = on ? "1" : ""; } catch { /* private window */ } };
  try { commands.checked = !!localStorage.commands; } catch { /* private window */ }
  commands.addEventListener("change", () => showCommands(commands.checked));

  // Keys. Nothing fires while somebody types.
  const keys = $("#keys"), letters = {};
  for (const a of $$("nav.top a[data-go]")) {
    const letter = [...a.dataset.go, ..."abcdefhlmnpquvwxyz"].find((l) => !letters[l]);
    letters[letter] = a.dataset.go;
    const kbd = $(`kbd[data-key="${a.dataset.go}"]`);
    if (kbd) kbd.textContent = letter;
  }
  const help = $("button.keys");
  help.hidden = false;
  help.addEventListener("click", () => keys.showModal());
  const rows = () => $$("a.row, .ask").filter((r) => r.offsetParent);
  const move = (by) => {
    const list = rows(), at = list.findIndex((r) => r === document.activeElement || r.contains(document.activeElement));
    const to = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)];
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  };
  let go = 0;
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || e.isComposing) return;
    if (e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]")) { if (e.key === "Escape") e.target.blur(); return; }
    if (keys.open) { if (e.key === "?") keys.close(); return; }
    if (Date.now() - go < 1500) {
      go = 0;
      const a = letters[e.key] && $(`nav.top a[data-go="${letters[e.key]}"]`);
      if (a) { e.preventDefault(); a.click(); }
      return;
    }
    switch (e.key) {
      case "g": go = Date.now(); break;
      case "j": move(1); break;
      case "k": move(-1); break;
      case "c": showCommands(!commands.checked); break;
      case "?": keys.showModal(); break;
      case "/": { const s = $("input[type=search]"); if (s) { s.focus(); s.select(); } else location.href = "/tasks?focus=search"; break; }
      case "n": { const t = $("#new"); if (t) { t.closest("details")?.setAttribute("open", ""); t.focus(); } else location.href = "/tasks?focus=new"; break; }
      default: return;
    }
    e.preventDefault();
  });
  const focus = here.searchParams.get("focus");
  if (focus) {
    here.searchParams.delete("focus");
    history.replaceState(null, "", here);
    const to = focus === "new" ? $("#new") : $("input[type=search]");
    to?.closest("details")?.setAttribute("open", "");
    to?.focus();
  }
})();
