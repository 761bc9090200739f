"use strict";
(() => {
  // The whole graph is moved and zoomed by its view box; without script it can be scrolled.
  const pan = document.querySelector(".pan"), svg = pan && pan.querySelector("svg");
  if (svg) {
    const w = svg.viewBox.baseVal.width, h = svg.viewBox.baseVal.height;
    let x = 0, y = 0, scale = 1; // scale: pixels of the screen for one of the drawing
    const show = () => svg.setAttribute("viewBox", `${x} ${y} ${pan.clientWidth / scale} ${pan.clientHeight / scale}`);
    const clamp = (s) => Math.min(Math.max(s, Math.min(0.02, pan.clientWidth / w)), 4);
    const zoom = (by, px, py) => {
      const next = clamp(scale * by);
      x += px / scale - px / next;
      y += py / scale - py / next;
      scale = next;
      show();
    };
    const fit = () => {
      scale = Math.min(pan.clientWidth / w, pan.clientHeight / h, 1);
      x = -(pan.clientWidth / scale - w) / 2;
      y = -(pan.clientHeight / scale - h) / 2;
      show();
    };
    // Where a view begins that has a point in its middle, but shows nothing outside the drawing if it need not.
    const within = (middle, view, size) => size < view ? (size - view) / 2 : Math.min(Math.max(middle - view / 2, 0), size - view);
    const start = () => {
      const bad = svg.querySelector(".failed") || svg.querySelector(".n"), at = bad && /\((\S+) (\S+)\)/.exec(bad.getAttribute("transform"));
      scale = Math.max(Math.min(pan.clientWidth / w, pan.clientHeight / h, 1), 0.6);
      x = within(at ? at[1] : 0, pan.clientWidth / scale, w);
      y = within(at ? at[2] : 0, pan.clientHeight / scale, h);
      show();
    };
    pan.closest("details").addEventListener("toggle", (e) => e.target.open && start());
    const centre = () => [pan.clientWidth / 2, pan.clientHeight / 2];
    for (const b of document.querySelectorAll("[data-zoom]")) {
      b.addEventListener("click", () => b.dataset.zoom === "fit" ? fit() : zoom(b.dataset.zoom === "in" ? 1.4 : 1 / 1.4, ...centre()));
    }
    pan.addEventListener("wheel", (e) => {
      e.preventDefault();
      const r = pan.getBoundingClientRect();
      zoom(Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top);
    }, { passive: false });
    const held = new Map();
    let moved = 0;
    pan.addEventListener("pointerdown", (e) => { held.set(e.pointerId, e); moved = 0; });
    pan.addEventListener("pointermove", (e) => {
      const before = held.get(e.pointerId);
      if (!before) return;
      const r = pan.getBoundingClientRect();
      if (held.size === 1) {
        x -= (e.clientX - before.clientX) / scale;
        y -= (e.clientY - before.clientY) / scale;
        moved += Math.abs(e.clientX - before.clientX) + Math.abs(e.clientY - before.clientY);
        show();
      } else {
        const other = [...held.values()].find((o) => o.pointerId !== e.pointerId);
        const was = Math.hypot(before.clientX - other.clientX, before.clientY - other.clientY);
        const is = Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY);
        if (was > 0) zoom(is / was, (e.clientX + other.clientX) / 2 - r.left, (e.clientY + other.clientY) / 2 - r.top);
        moved = 99;
      }
      held.set(e.pointerId, e);
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) pan.addEventListener(end, (e) => held.delete(e.pointerId));
    pan.addEventListener("click", (e) => { if (moved > 6) e.preventDefault(); }, true);
  }
  // Commands and texts can be copied. What is folded gets its button when it is unfolded.
  const write = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const copyable = (e) => {
    if (e.dataset.copy) return;
    e.dataset.copy = "yes";
    const button = document.createElement("button");
    button.type = "button";
    button.className = e.localName === "pre" ? "copy text" : "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      await write(e.textContent);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });
    if (e.localName === "pre") e.before(button); else e.after(" ", button);
  };
  const unfolded = (box) => { for (const e of box.querySelectorAll(".steps code, pre")) if (e.checkVisibility()) copyable(e); };
  document.addEventListener("toggle", (e) => { if (e.target.open) unfolded(e.target); }, true);
  unfolded(document);
  // Links to a task open what tells about it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const near = target && target.closest("details");
    for (let box = near; box; box = box.parentElement.closest("details")) box.open = true;
    if (near) near.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
