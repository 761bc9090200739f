// Notes what a page must not do, and how fast it was. It runs before anything of the page.
(() => {
  const xss = [], violations = [], moved = [];
  let shift = 0, later = 0, since = Infinity;
  Object.defineProperty(window, "__xss", { set: (v) => { xss.push(String(v)); }, get: () => (v) => { xss.push(String(v)); } });
  document.addEventListener("securitypolicyviolation", (e) => violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`));
  new PerformanceObserver((list) => {
    for (const e of list.getEntries()) {
      if (e.hadRecentInput) continue;
      // What comes while somebody reads moves what is below it; what a page is made of does not.
      if (e.startTime >= since) { later += e.value; continue; }
      shift += e.value;
      for (const s of e.sources) moved.push(`${e.value.toFixed(3)} ${(s.node?.outerHTML || s.node?.textContent || "").slice(0, 80)}`);
    }
  }).observe({ type: "layout-shift", buffered: true });
  addEventListener("load", () => new MutationObserver(() => { since = Math.min(since, performance.now()); })
    .observe(document.documentElement, { childList: true, subtree: true, characterData: true, attributes: true }));
  window.__noted = () => {
    const nav = performance.getEntriesByType("navigation")[0];
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    const bytes = [nav, ...performance.getEntriesByType("resource").filter((e) => !["fetch", "other"].includes(e.initiatorType))]
      .reduce((sum, e) => sum + (e?.decodedBodySize || 0), 0);
    return { XSS: xss, Violations: violations, Shift: shift, Later: later, Moved: moved.slice(0, 10), Paint: paint?.startTime || 0, Bytes: bytes };
  };
})();
