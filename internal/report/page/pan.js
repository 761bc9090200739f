"use strict";
(() => {
  // The whole graph is moved and zoomed by its view box; without script it can be scrolled.
  const pan = document.querySelector(".pan");
  let svg = pan && pan.querySelector("svg");
  if (svg) {
    let w = svg.viewBox.baseVal.width, h = svg.viewBox.baseVal.height;
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
    const fold = pan.closest("details");
    if (fold) fold.addEventListener("toggle", (e) => e.target.open && start()); else start();
    // A new drawing takes the place of the old one, and people stay where they are.
    document.addEventListener("ralph:live", () => {
      svg = pan.querySelector("svg") || svg;
      w = +svg.getAttribute("width");
      h = +svg.getAttribute("height");
      show();
    });
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
})();
