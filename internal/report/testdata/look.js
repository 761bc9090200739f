// What only a report has: everything of it unfolded, if asked for, the commands copied, the graph moved, and nothing fetched.
async (unfold) => {
  const faults = new Set(), all = (what) => [...document.querySelectorAll(what)], brief = (e) => e.outerHTML.slice(0, 80);
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  if (unfold) all("details").forEach((d) => { d.open = true; });
  await frames();

  const whole = document.querySelector(".pan svg"), get = (name) => whole.getAttribute(name);
  if (unfold && whole && get("viewBox") === `0 0 ${get("width")} ${get("height")}`) faults.add("the script did not move the whole graph");

  // Every command and every text that is seen can be copied.
  for (const e of all(".steps code, pre")) if (e.checkVisibility() && !e.dataset.copy) faults.add(`it cannot be copied: ${brief(e)}`);
  const copy = document.querySelector("button.copy");
  if (copy) {
    copy.click();
    for (let i = 0; i < 100 && copy.textContent !== "copied"; i++) await frames();
    if (copy.textContent !== "copied") faults.add("nothing was copied");
  }

  // The page is all there is.
  for (const e of performance.getEntriesByType("resource")) faults.add(`it asks for ${e.name}`);
  return [...faults].slice(0, 20);
}
